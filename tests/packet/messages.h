/* SPDX-License-Identifier: Apache-2.0 */
/* Random connection-management messages for the tests of packet/. */
#ifndef ROCELAB_TESTS_PACKET_MESSAGES_H
#define ROCELAB_TESTS_PACKET_MESSAGES_H

#include "base/rng.h"
#include "packet/mad.h"

/* Every field that such a message has, random within its bits. */
void message_random(struct rng *rng, uint16_t attribute, struct cm_msg *msg);

#endif
