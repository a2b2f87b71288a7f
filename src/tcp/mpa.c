/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sizes of FPDUs.  A marker is counted for each 512 bytes begun, as if a FPDU started with one: the position of markers
 * in the stream is not followed.
 */
#include "tcp/mpa.h"

uint32_t mpa_bytes(const struct mpa_config *config, uint32_t payload)
{
    if (!config->on) return payload;
    uint32_t bytes = MPA_LENGTH_BYTES + (config->untagged ? MPA_UNTAGGED_BYTES : MPA_TAGGED_BYTES) + payload;

    bytes = ((bytes + 3) & ~3u) + MPA_CRC_BYTES;
    if (config->markers) {
        uint32_t every = MPA_MARKER_EVERY - MPA_MARKER_BYTES;
        bytes += (bytes + every - 1) / every * MPA_MARKER_BYTES;
    }
    return bytes;
}

uint32_t mpa_payload(const struct mpa_config *config, uint32_t mss)
{
    if (!config->on) return mss;
    uint32_t payload = mss;

    while (payload > 0 && mpa_bytes(config, payload) > mss)
        payload -= mpa_bytes(config, payload) - mss < payload ? mpa_bytes(config, payload) - mss : payload;
    while (payload > 0 && mpa_bytes(config, payload + 1) <= mss)
        payload++;
    return payload;
}
