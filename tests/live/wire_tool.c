/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For test_wire_capture.py:
 *   wire_tool send WIRE IFNAME SRC DST SLOT COUNT PAYLOAD   packets in runs, the last of each shorter
 *   wire_tool receive WIRE IFNAME ADDRESS COUNT             tells its slot; checks bytes and ICRC of so many
 *   wire_tool check FILE                                    counts a capture's RoCE packets and wrong ICRCs
 */
#include <poll.h>

#include "packet/capfile/capfile.h"
#include "wires.h"

static const uint16_t port = 4791;

static struct test_end end_open(const char *kind, const char *ifname, const char *address)
{
    struct test_end end;
    char why[200] = "";
    if (registry_join(&end.registry, why, sizeof why) != 0) {
        fprintf(stderr, "%s\n", why);
        exit(1);
    }
    end.slot = registry_slot(end.registry);
    struct wire_config config = {.ifname = ifname,
                                 .slot = end.slot,
                                 .registry = end.registry,
                                 .port = port,
                                 .why = why,
                                 .why_bytes = sizeof why};
    int (*open_wire)(const struct wire_config *, struct wire **) =
        strcmp(kind, "packet") == 0 ? wire_packet_open : wire_udp_open;
    if (open_wire(&config, &end.wire) != 0) {
        fprintf(stderr, "%s\n", why);
        exit(1);
    }
    struct pkt_addr addr = test_addr(address);
    if (wire_add_address(end.wire, &addr) != 0) {
        fprintf(stderr, "%s\n", wire_why(end.wire));
        exit(1);
    }
    return end;
}

static int send_all(char **argument)
{
    static uint8_t memory[WIRE_BURST * WIRE_PACKET_MAX];
    struct test_end end = end_open(argument[0], argument[1], argument[2]);
    uint32_t count = (uint32_t)strtoul(argument[5], NULL, 10), payload = (uint32_t)strtoul(argument[6], NULL, 10);
    uint32_t slot = (uint32_t)strtoul(argument[4], NULL, 10);
    for (uint32_t sent = 0; sent < count;) {
        struct wire_packet packet[WIRE_BURST];
        unsigned burst = 0;
        uint32_t room = end.wire->run_bytes / (payload + 16);
        unsigned longest = end.wire->run_max < room ? end.wire->run_max : room;
        uint8_t *at = memory;
        unsigned length = 1 + sent % 13;
        if (length > longest) length = longest;
        for (; burst < length && sent + burst < count; burst++) {
            bool last = burst + 1 == length;
            packet[burst] = test_packet(at, argument[2], argument[3], end.wire->source_port[0], slot << 14,
                                        sent + burst, last ? 64 : payload, (uint16_t)burst);
            at += packet[burst].bytes;
        }
        for (unsigned done = 0; done < burst;) {
            int taken = wire_tx(end.wire, packet + done, burst - done, test_now());
            if (taken < 0) return 1;
            if (taken == 0) usleep(100);
            done += (unsigned)taken;
        }
        sent += burst;
        usleep(200);
    }
    printf("sent %llu refused %llu calls %llu\n", (unsigned long long)end.wire->counters.tx_packets,
           (unsigned long long)end.wire->counters.tx_refused, (unsigned long long)end.wire->counters.tx_calls);
    test_end_close(&end);
    return 0;
}

static int receive_all(char **argument)
{
    struct test_end end = end_open(argument[0], argument[1], argument[2]);
    uint32_t count = (uint32_t)strtoul(argument[3], NULL, 10), received = 0, right = 0;
    printf("slot %u\n", end.slot);
    fflush(stdout);
    for (int idle = 0; received < count && idle < 3000;) {
        struct wire_packet got[WIRE_BURST];
        int more = wire_rx(end.wire, got, WIRE_BURST, test_now());
        if (more < 0) return 1;
        for (int i = 0; i < more; i++)
            right += test_packet_right(&got[i]);
        received += (uint32_t)more;
        idle = more ? 0 : idle + 1;
        struct pollfd ready = {.fd = wire_fd(end.wire), .events = POLLIN};
        if (!more) poll(&ready, 1, 1);
    }
    printf("received %u right %u\n", received, right);
    test_end_close(&end);
    return 0;
}

static int check(const char *path)
{
    struct capfile *file;
    struct capfile_record record;
    char error[CAPFILE_ERROR];
    unsigned roce = 0, bad = 0, malformed = 0, ids = 0;
    if (capfile_open(path, &file, error) != 0) return 1;
    while (capfile_next(file, &record, error) == 1) {
        struct codec_frame frame = {record.data, record.captured, record.length, CODEC_ETHERNET};
        struct pkt pkt;
        struct pkt_cold cold;
        struct codec_layout layout;
        enum codec_fault fault;
        if (codec_parse(&frame, &pkt, &cold, &layout, &fault) != 0) {
            malformed++;
            continue;
        }
        if (pkt.kind != PKT_ROCE) continue;
        roce++;
        ids += cold.ip_id != 0;
        bad += icrc_check(&frame, &pkt, &cold, &layout) != ICRC_GOOD;
    }
    capfile_close(file);
    printf("roce %u wrong %u malformed %u ids %u\n", roce, bad, malformed, ids);
    return 0;
}

int main(int count, char **argument)
{
    if (count == 9 && strcmp(argument[1], "send") == 0) return send_all(argument + 2);
    if (count == 6 && strcmp(argument[1], "receive") == 0) return receive_all(argument + 2);
    if (count == 3 && strcmp(argument[1], "check") == 0) return check(argument[2]);
    fprintf(stderr, "usage: see the head of wire_tool.c\n");
    return 2;
}
