/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Peers that die without a word.
 *
 * A kernel says goodbye for a process that is killed.  Here nobody is left to do so.  But of a peer of this machine
 * the device knows whether it lives: its slot is in its communication ids, as in ours.  So connected ids whose peer
 * has a slot are looked at once a second; where the process is another one than it was, or none, the connection ends as
 * if a DREQ had come.
 *
 * Peers on other machines, or in other network namespaces or of other users, are not known here.  That they are gone
 * shows when something is sent to them.
 */
#include "verbs/rdmacm/rdmacm_int.h"

#define LOOK_NS 1000000000ULL

static int32_t peer_pid(const struct rid *id)
{
    uint32_t slot = cm_conn_remote_id(id->conn) >> CM_SLOT_SHIFT;

    return device_cm_alive(id->device->live, slot, &cm_conn_peer(id->conn)->remote);
}

void rdmacm_peer_connected(struct rid *id)
{
    uint32_t slot = cm_conn_remote_id(id->conn) >> CM_SLOT_SHIFT;

    if (slot == device_cm_slot(id->device->live)) return; /* ourselves */
    id->peer_pid = peer_pid(id);
    id->peer_missed = false;
    if (id->peer_pid == 0 || id->peer_watched) return;
    id->peer_watched = true;
    rdmacm.peers_watched++;
    if (rdmacm.look_ns == CM_NEVER) rdmacm.look_ns = rdmacm_now_ns() + LOOK_NS;
}

void rdmacm_peer_forget(struct rid *id)
{
    if (!id->peer_watched) return;
    id->peer_watched = false;
    if (--rdmacm.peers_watched == 0) rdmacm.look_ns = CM_NEVER;
}

/* Twice in a row: the device answers "none" too when it cannot be read for the moment. */
static void look_at(struct rid *id)
{
    if (peer_pid(id) == id->peer_pid) {
        id->peer_missed = false;
    } else if (!id->peer_missed) {
        id->peer_missed = true;
    } else {
        rdmacm_peer_forget(id);
        cm_peer_gone(id->conn, rdmacm_now_ns());
    }
}

void rdmacm_peers_look(uint64_t now_ns)
{
    if (now_ns < rdmacm.look_ns) return;
    rdmacm.look_ns = now_ns + LOOK_NS;
    for (struct rid *id = rdmacm.ids; id != NULL; id = id->next)
        if (id->peer_watched) look_at(id);
    if (rdmacm.peers_watched == 0) rdmacm.look_ns = CM_NEVER;
}
