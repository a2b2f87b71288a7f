/* SPDX-License-Identifier: Apache-2.0 */
/*
 * getifaddrs(), as libfabric sees it.
 *
 * libfabric's verbs provider looks for devices behind every interface but the one named "lo": adapters of
 * other makers have none there.  Ours has, and it is the one that two processes without any configuration use.
 * So to that caller, and to no other, the loopback interface is told by another name; the addresses are what it goes
 * by.
 */
#include <dlfcn.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdbool.h>
#include <string.h>

static bool is_libfabric(const void *caller)
{
    Dl_info info;

    return dladdr(caller, &info) != 0 && info.dli_fname != NULL && strstr(info.dli_fname, "libfabric") != NULL;
}

__attribute__((visibility("default"))) int getifaddrs(struct ifaddrs **ret)
{
    static char loopback[] = "loopback"; /* the list is one block: names in it are not freed one by one */
    int (*real)(struct ifaddrs **);
    void *symbol = dlsym(RTLD_NEXT, "getifaddrs");
    int error;

    if (symbol == NULL) {
        errno = ENOSYS;
        return -1;
    }
    memcpy(&real, &symbol, sizeof real);
    error = real(ret);
    if (error != 0 || !is_libfabric(__builtin_return_address(0))) return error;
    for (struct ifaddrs *at = *ret; at != NULL; at = at->ifa_next)
        if (at->ifa_flags & IFF_LOOPBACK) {
            at->ifa_name = loopback;
            at->ifa_flags &= ~(unsigned)IFF_LOOPBACK;
        }
    return 0;
}
