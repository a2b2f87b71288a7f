/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes through the CM parser: a message it accepts is emitted and read back unchanged. */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "packet/mad.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct cm_msg msg, again;
    uint8_t payload[MAD_BYTES], second[MAD_BYTES];
    uint8_t *exact = malloc(size ? size : 1); /* its own allocation: reads beyond the end are seen */
    if (!exact) return 0;
    memcpy(exact, data, size);
    int answer = cm_parse(exact, size, &msg);
    free(exact);
    if (answer != 0) {
        CHECK(answer == (size < MAD_BYTES ? -EBADMSG : -ENOMSG));
        return 0;
    }
    CHECK(cm_name(msg.mad.attribute) != NULL && cm_private_bytes(msg.mad.attribute) > 0);
    CHECK(cm_reject_text(msg.reason) != NULL);
    CHECK(cm_service_port(msg.service_id) == 0 || msg.service_id >> 24 == 1);
    CHECK(cm_emit(&msg, payload) == 0);
    CHECK(cm_parse(payload, sizeof payload, &again) == 0);
    CHECK(memcmp(&msg, &again, sizeof msg) == 0);
    CHECK(cm_emit(&again, second) == 0);
    CHECK(memcmp(payload, second, sizeof payload) == 0);
    return 0;
}
