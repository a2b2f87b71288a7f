/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One request of a thread that has the turn: to whom it goes.  Names and addresses of hosts, and numbers of processes,
 * are answered here.
 *
 * The request is copied before it is looked at: the program can write to the segment while we read.
 */
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/bytes.h"
#include "fabric/fabric.h"
#include "packet/codec.h"
#include "up/up_int.h"

#define FORK_LIMIT_MS 2000 /* real time: a child that has not said hello by then is none of ours */

static uint32_t host_of_address(const struct fabric *fabric, const struct pkt_addr *address)
{
    if (!pkt_addr_is_ipv4(address)) return FABRIC_NONE;
    for (uint32_t i = 0; i < fabric->endpoints; i++)
        if (memcmp(fabric->endpoint[i].address, address->byte + 12, 4) == 0) return fabric->endpoint[i].host;
    return FABRIC_NONE;
}

static int answer_host(const struct fabric *fabric, struct attach_host *host)
{
    uint32_t number = host->number;

    host->name[sizeof host->name - 1] = '\0';
    if (host->name[0])
        number = fabric_find_node(fabric, host->name);
    else if (!pkt_addr_unspecified(&host->address[0]))
        number = host_of_address(fabric, &host->address[0]);
    if (number >= fabric->hosts) return -ENOENT;
    memset(host, 0, sizeof *host);
    memcpy(host->name, fabric->node[number].name, strnlen(fabric->node[number].name, sizeof host->name - 1));
    host->number = number;
    for (uint32_t i = fabric->first_endpoint[number]; i < fabric->first_endpoint[number + 1]; i++)
        if (host->addresses < ATTACH_NICS)
            host->address[host->addresses++] = pkt_addr_ipv4(load_be32(fabric->endpoint[i].address));
    return 0;
}

static int await_child(struct up_process *process, const struct attach_request *request, ps_t now)
{
    struct attach_fork fork;

    memcpy(&fork, request->data, sizeof fork);
    if (fork.pid <= 0) return 0;             /* there is none: the number is not used again */
    if (process->up->options.real) return 0; /* it comes when it comes */
    if (request->object % process->up->fabric->hosts != process->host->number) return -EINVAL;
    if (session_find(process->host, request->object)) return 0;
    int pidfd = (int)syscall(SYS_pidfd_open, fork.pid, 0);
    const struct up_expected expected = {.host = process->host,
                                         .number = request->object,
                                         .pid = fork.pid,
                                         .pidfd = pidfd,
                                         .limit_ms = FORK_LIMIT_MS,
                                         .child = true,
                                         .what = process->command};
    struct up_process *child = session_await(&expected, now);
    if (pidfd >= 0) close(pidfd);
    if (child && process->owned) session_own(child);
    return child ? 0 : -ESRCH;
}

static int pid_of(const struct up *up, uint32_t number)
{
    const struct up_process *process = session_find(&up->host[number % up->fabric->hosts], number);

    return process ? process->pid : -ESRCH;
}

static void not_virtual(struct up_process *process, const struct attach_request *request)
{
    char text[sizeof process->not_virtual];

    memcpy(text, request->data, sizeof text);
    text[sizeof text - 1] = '\0';
    if (strcmp(text, process->not_virtual) == 0) return;
    memcpy(process->not_virtual, text, sizeof text);
    session_say(process->host, process->command,
                "%s, which has no virtual time: results may differ from run to run (--clock real knows it)", text);
}

static int answer(struct up_process *process, struct attach_request *request, ps_t now, struct node_io *io)
{
    switch (request->op) {
    case ATTACH_OP_MAD_SEND:
    case ATTACH_OP_CM_SLOT:
    case ATTACH_OP_CM_LISTEN:
    case ATTACH_OP_CM_UNLISTEN:
    case ATTACH_OP_CM_ALIVE:
        return cm_request(process, request, now, io);
    case ATTACH_OP_ADOPT:
    case ATTACH_OP_RELEASE:
        return adopt_request(process, request);
    case ATTACH_OP_STREAM_OPEN:
    case ATTACH_OP_STREAM_NAME:
    case ATTACH_OP_STREAM_LISTEN:
    case ATTACH_OP_STREAM_CONNECT:
    case ATTACH_OP_STREAM_STATE:
    case ATTACH_OP_DATAGRAM_TO:
    case ATTACH_OP_DATAGRAM_FROM:
        return stream_request(process, request, now);
    case ATTACH_OP_HOST:
        return answer_host(process->up->fabric, (struct attach_host *)(void *)request->data);
    case ATTACH_OP_FORK:
        return (int)session_number(process->host);
    case ATTACH_OP_FORKED:
        return await_child(process, request, now);
    case ATTACH_OP_PID:
        return pid_of(process->up, request->object);
    case ATTACH_OP_START:
        return start_request(process, request, now);
    case ATTACH_OP_NOT_VIRTUAL:
        not_virtual(process, request);
        return 0;
    default:
        return request->op < ATTACH_OPS ? up_device_request(process, request, now, io) : -ENOSYS;
    }
}

void request_run(struct up_thread *thread, ps_t now, struct node_io *io)
{
    struct attach_request request = thread->shared->request;

    request.result = answer(thread->process, &request, now, io);
    thread->shared->request = request;
}
