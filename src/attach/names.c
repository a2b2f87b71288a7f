/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of hosts as the program sees them: those of the fabric, and its own.
 *
 * Nothing outside is asked: no file, no name server, so that the same names resolve everywhere.  What is answered is
 * laid out as libc does it, since libc's own functions free it.  Names of services are libc's.
 */
#include "attach/streams.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "packet/codec.h"

/* A host of the fabric, by name (or ""), by address, or by number; false: there is none. */
static bool find_host(struct attach_host *host)
{
    struct attach_request request = {.op = ATTACH_OP_HOST};
    bool found;

    if (turn_enter() < 0) return false;
    memcpy(request.data, host, sizeof *host);
    found = session_request(&request, NULL, 0) >= 0;
    memcpy(host, request.data, sizeof *host);
    turn_leave();
    return found;
}

static bool is_localhost(const char *name)
{
    return strcmp(name, "localhost") == 0 || strcmp(name, "localhost.localdomain") == 0 ||
           strcmp(name, "ip6-localhost") == 0;
}

/* An address as it is written, or that of a name.  0, or EAI_*. */
static int resolve(const char *name, bool numeric, int family, struct attach_host *ret)
{
    struct in_addr four;
    struct in6_addr six;
    char text[INET6_ADDRSTRLEN + 1];
    size_t length = strcspn(name, "%"); /* the zone: there is one link */

    memset(ret, 0, sizeof *ret);
    ret->addresses = 1;
    snprintf(text, sizeof text, "%.*s", (int)(length < sizeof text ? length : sizeof text - 1), name);
    if (inet_aton(name, &four)) {
        ret->address[0] = pkt_addr_ipv4(ntohl(four.s_addr));
        return 0;
    }
    if (inet_pton(AF_INET6, text, &six) == 1) {
        memcpy(&ret->address[0], &six, sizeof six);
        return 0;
    }
    if (numeric) return EAI_NONAME;
    if (is_localhost(name)) {
        ret->address[0] = family == AF_INET6 ? (struct pkt_addr){.byte = {[15] = 1}} : pkt_addr_ipv4(INADDR_LOOPBACK);
        return 0;
    }
    if (name[0] == '\0' || strlen(name) >= sizeof ret->name) return EAI_NONAME;
    memcpy(ret->name, name, strlen(name) + 1);
    return find_host(ret) && ret->addresses > 0 ? 0 : EAI_NONAME;
}

/* --- getaddrinfo --- */

static int find_port(const char *service, const struct addrinfo *hints, uint16_t *ret)
{
    char *end, room[1024];
    struct servent entry, *found = NULL;
    unsigned long number;

    *ret = 0;
    if (service == NULL) return 0;
    number = strtoul(service, &end, 10);
    if (service[0] != '\0' && *end == '\0') {
        *ret = (uint16_t)number;
        return number < 65536 ? 0 : EAI_SERVICE;
    }
    if (hints->ai_flags & AI_NUMERICSERV) return EAI_NONAME;
    if (turn_enter() < 0) return EAI_FAIL;
    getservbyname_r(service, hints->ai_socktype == SOCK_DGRAM ? "udp" : "tcp", &entry, room, sizeof room, &found);
    turn_leave();
    if (found == NULL) return EAI_SERVICE;
    *ret = ntohs((uint16_t)found->s_port);
    return 0;
}

static struct addrinfo *new_info(const struct pkt_addr *address, uint16_t port, bool ipv4, int type, int protocol)
{
    socklen_t length = ipv4 ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
    struct addrinfo *info = calloc(1, sizeof *info + length);

    if (info == NULL) return NULL;
    info->ai_family = ipv4 ? AF_INET : AF_INET6;
    info->ai_socktype = type;
    info->ai_protocol = protocol;
    info->ai_addrlen = length;
    info->ai_addr = (struct sockaddr *)(void *)(info + 1);
    address_write(address, port, ipv4, info->ai_addr, &length);
    return info;
}

struct answer {
    const struct addrinfo *hints;
    uint16_t port;
    struct addrinfo *first, **last;
};

/* One address, for each kind of socket that was asked for. */
static int add_address(struct answer *to, const struct pkt_addr *address, bool ipv4)
{
    static const struct {
        int type, protocol;
    } kind[] = {{SOCK_STREAM, IPPROTO_TCP}, {SOCK_DGRAM, IPPROTO_UDP}, {SOCK_RAW, 0}};

    for (size_t i = 0; i < sizeof kind / sizeof *kind; i++) {
        if (to->hints->ai_socktype && to->hints->ai_socktype != kind[i].type) continue;
        if (to->hints->ai_protocol && kind[i].protocol && to->hints->ai_protocol != kind[i].protocol) continue;
        *to->last = new_info(address, to->port, ipv4, kind[i].type,
                             kind[i].protocol ? kind[i].protocol : to->hints->ai_protocol);
        if (*to->last == NULL) return EAI_MEMORY;
        to->last = &(*to->last)->ai_next;
    }
    return 0;
}

/* Nobody is named: this host, or any address of it. */
static int add_own(struct answer *to)
{
    bool passive = to->hints->ai_flags & AI_PASSIVE;
    struct pkt_addr four = pkt_addr_ipv4(passive ? INADDR_ANY : INADDR_LOOPBACK);
    struct pkt_addr six = {.byte = {[15] = passive ? 0 : 1}};
    int error = 0;

    if (to->hints->ai_family != AF_INET6) error = add_address(to, &four, true);
    if (error == 0 && to->hints->ai_family != AF_INET) error = add_address(to, &six, false);
    return error;
}

static int add_named(struct answer *to, const char *node)
{
    int family = to->hints->ai_family;
    struct attach_host host;
    int error = resolve(node, to->hints->ai_flags & AI_NUMERICHOST, family, &host);

    for (uint32_t i = 0; error == 0 && i < host.addresses; i++) {
        bool ipv4 = pkt_addr_is_ipv4(&host.address[i]);

        if (ipv4 && (family != AF_INET6 || to->hints->ai_flags & AI_V4MAPPED))
            error = add_address(to, &host.address[i], family != AF_INET6);
        else if (!ipv4 && family != AF_INET)
            error = add_address(to, &host.address[i], false);
    }
    if (error == 0 && to->first == NULL) error = EAI_ADDRFAMILY;
    if (error == 0 && to->hints->ai_flags & AI_CANONNAME) {
        to->first->ai_canonname = strdup(host.name[0] ? host.name : node);
        if (to->first->ai_canonname == NULL) error = EAI_MEMORY;
    }
    return error;
}

EXPORT int getaddrinfo(const char *restrict node, const char *restrict service, const struct addrinfo *restrict hints,
                       struct addrinfo **restrict ret)
{
    static const struct addrinfo none = {.ai_flags = AI_V4MAPPED | AI_ADDRCONFIG};
    struct answer answer = {.hints = hints ? hints : &none};
    int error;

    if (!streams_managed()) return REAL(getaddrinfo)(node, service, hints, ret);
    answer.last = &answer.first;
    if (node == NULL && service == NULL) return EAI_NONAME;
    if (answer.hints->ai_family != AF_UNSPEC && answer.hints->ai_family != AF_INET &&
        answer.hints->ai_family != AF_INET6)
        return EAI_FAMILY;
    if ((error = find_port(service, answer.hints, &answer.port)) != 0) return error;
    error = node ? add_named(&answer, node) : add_own(&answer);
    if (error == 0 && answer.first == NULL) error = EAI_SOCKTYPE;
    if (error == 0)
        *ret = answer.first;
    else if (answer.first)
        freeaddrinfo(answer.first);
    return error;
}

/* --- getnameinfo --- */

static int put_text(const char *text, char *to, socklen_t room)
{
    if (to == NULL || room == 0) return 0;
    if (strlen(text) >= room) return EAI_OVERFLOW;
    memcpy(to, text, strlen(text) + 1);
    return 0;
}

static int name_address(const struct pkt_addr *address, int flags, char *to, socklen_t room)
{
    struct attach_host host = {.address = {*address}};
    char text[PKT_ADDR_TEXT];

    if (to == NULL || room == 0) return 0;
    if (!(flags & NI_NUMERICHOST)) {
        if (pkt_addr_is_ipv4(address) && address->byte[12] == 127) return put_text("localhost", to, room);
        if (find_host(&host)) return put_text(host.name, to, room);
        if (flags & NI_NAMEREQD) return EAI_NONAME;
    }
    return put_text(pkt_addr_format(address, text), to, room);
}

static int name_port(uint16_t port, int flags, char *to, socklen_t room)
{
    char text[16], other[1024];
    struct servent entry, *found = NULL;

    if (!(flags & NI_NUMERICSERV) && turn_enter() == 0) {
        getservbyport_r(htons(port), flags & NI_DGRAM ? "udp" : "tcp", &entry, other, sizeof other, &found);
        turn_leave();
    }
    snprintf(text, sizeof text, "%u", port);
    return put_text(found ? found->s_name : text, to, room);
}

EXPORT int getnameinfo(const struct sockaddr *restrict address, socklen_t length, char *restrict host, socklen_t room,
                       char *restrict service, socklen_t service_room, int flags)
{
    struct pkt_addr addr;
    uint16_t port;
    int error;

    if (!streams_managed() || (address->sa_family != AF_INET && address->sa_family != AF_INET6))
        return REAL(getnameinfo)(address, length, host, room, service, service_room, flags);
    if (address_read(address, length, &addr, &port) < 0) return EAI_FAMILY;
    error = name_address(&addr, flags, host, room);
    return error ? error : name_port(port, flags, service, service_room);
}

/* --- this host --- */

EXPORT int gethostname(char *name, size_t room)
{
    size_t length;

    if (!streams_managed()) return REAL(gethostname)(name, room);
    length = strlen(attached.head->host_name);
    memcpy(name, attached.head->host_name, length < room ? length + 1 : room);
    return length < room ? 0 : (int)as_libc(-ENAMETOOLONG);
}

EXPORT int uname(struct utsname *ret)
{
    long result = RAW(SYS_uname, ret, 0, 0, 0, 0, 0);

    if (result == 0 && streams_managed()) {
        snprintf(ret->nodename, sizeof ret->nodename, "%.*s", (int)sizeof ret->nodename - 1, attached.head->host_name);
        memset(ret->domainname, 0, sizeof ret->domainname);
    }
    return (int)as_libc(result);
}

EXPORT long gethostid(void)
{
    return streams_managed() ? 0x0a000000L + attached.head->host : REAL(gethostid)();
}

/* --- gethostbyname and its kin --- */

struct entry_room { /* laid out in the caller's buffer */
    char *name;
    char *alias[1];
    char *list[ATTACH_NICS + 1];
    uint8_t bytes[ATTACH_NICS][16];
    char text[ATTACH_NAME];
};

/* 0 with *ret, or ERANGE. */
static int fill_entry(const struct attach_host *host, const char *name, int family, struct hostent *ret, char *buffer,
                      size_t room)
{
    size_t pad = -(uintptr_t)buffer % _Alignof(struct entry_room);
    struct entry_room *at = (struct entry_room *)(void *)(buffer + pad);
    uint32_t used = 0;

    if (room < sizeof *at + pad) return ERANGE;
    for (uint32_t i = 0; i < host->addresses; i++) {
        bool ipv4 = pkt_addr_is_ipv4(&host->address[i]);

        if (ipv4 != (family == AF_INET)) continue;
        memcpy(at->bytes[used], host->address[i].byte + (ipv4 ? 12 : 0), ipv4 ? 4 : 16);
        at->list[used] = (char *)at->bytes[used];
        used++;
    }
    at->list[used] = NULL;
    at->alias[0] = NULL;
    snprintf(at->text, sizeof at->text, "%.*s", (int)sizeof at->text - 1, host->name[0] ? host->name : name);
    *ret = (struct hostent){.h_name = at->text,
                            .h_aliases = at->alias,
                            .h_addrtype = family,
                            .h_length = family == AF_INET ? 4 : 16,
                            .h_addr_list = at->list};
    return 0;
}

EXPORT int gethostbyname2_r(const char *restrict name, int family, struct hostent *restrict ret, char *restrict buffer,
                            size_t room, struct hostent **restrict result, int *restrict error)
{
    struct attach_host host;
    int failed;

    if (!streams_managed()) return REAL(gethostbyname2_r)(name, family, ret, buffer, room, result, error);
    *result = NULL;
    *error = HOST_NOT_FOUND;
    if (resolve(name, false, family, &host) != 0) return 0;
    *error = NETDB_INTERNAL;
    if ((failed = fill_entry(&host, name, family, ret, buffer, room)) != 0) return failed;
    *error = ret->h_addr_list[0] ? NETDB_SUCCESS : NO_DATA;
    if (ret->h_addr_list[0]) *result = ret;
    return 0;
}

EXPORT int gethostbyname_r(const char *restrict name, struct hostent *restrict ret, char *restrict buffer, size_t room,
                           struct hostent **restrict result, int *restrict error)
{
    if (!streams_managed()) return REAL(gethostbyname_r)(name, ret, buffer, room, result, error);
    return gethostbyname2_r(name, AF_INET, ret, buffer, room, result, error);
}

static char static_room[sizeof(struct entry_room) + _Alignof(struct entry_room)];
static struct hostent static_entry;

EXPORT struct hostent *gethostbyname2(const char *name, int family)
{
    struct hostent *result;

    if (!streams_managed()) return REAL(gethostbyname2)(name, family);
    gethostbyname2_r(name, family, &static_entry, static_room, sizeof static_room, &result, &h_errno);
    return result;
}

EXPORT struct hostent *gethostbyname(const char *name)
{
    if (!streams_managed()) return REAL(gethostbyname)(name);
    return gethostbyname2(name, AF_INET);
}

EXPORT int gethostbyaddr_r(const void *restrict address, socklen_t length, int family, struct hostent *restrict ret,
                           char *restrict buffer, size_t room, struct hostent **restrict result, int *restrict error)
{
    struct attach_host host = {.addresses = 1};
    int failed;

    if (!streams_managed()) return REAL(gethostbyaddr_r)(address, length, family, ret, buffer, room, result, error);
    *result = NULL;
    *error = HOST_NOT_FOUND;
    if (family != AF_INET || length < 4) return 0;
    host.address[0] = pkt_addr_ipv4(ntohl(*(const uint32_t *)address));
    if (host.address[0].byte[12] != 127 && !find_host(&host)) return 0;
    *error = NETDB_INTERNAL;
    if ((failed = fill_entry(&host, "localhost", family, ret, buffer, room)) != 0) return failed;
    *error = NETDB_SUCCESS;
    *result = ret;
    return 0;
}

EXPORT struct hostent *gethostbyaddr(const void *address, socklen_t length, int family)
{
    struct hostent *result;

    if (!streams_managed()) return REAL(gethostbyaddr)(address, length, family);
    gethostbyaddr_r(address, length, family, &static_entry, static_room, sizeof static_room, &result, &h_errno);
    return result;
}
