/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bus that is slow to fetch: what a packet carries is read from the host's memory at tx_bps, one packet after the
 * other, so packets with payload begin no closer together than that takes.  Answers without payload do not wait.
 *
 * Where writes are ordered, a read does not overtake those before it: fetching also waits for what arrived and is not
 * drained, up to as much as the bus holds (tx_behind_bytes).  The time until the first byte is there is not modelled:
 * an adapter that has sent nothing for a while sends at once.
 *
 * While payload is fetched all priorities are stopped for queue pairs.  It ends with the pauses: pause_next is the
 * earlier of both, so an adapter without such a bus has nothing more to look at.
 */
#include "nic/nic_int.h"

void fetch_begin(struct nic *nic, const struct pkt *p, ps_t now)
{
    ps_t span = rate_take(&nic->tx_rate, p->frame_bytes);

    if (nic->config.tx_behind_bytes) span = ps_add(span, receive_ahead(nic, nic->config.tx_behind_bytes, now));
    nic->fetch_at = ps_add(now, span);
    stopped_set(nic);
    if (nic->fetch_at < nic->pause_next) nic->pause_next = nic->fetch_at;
    pause_set_deadline(nic);
}

void fetch_end(struct nic *nic)
{
    nic->fetch_at = PS_NEVER;
    stopped_set(nic);
}
