/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bare loop that `rocelab capture` is measured against: libpcap hands over each packet, ISA-L
 * computes a CRC over all of it, nothing else is done.  What a program that only checked ICRCs with
 * the usual libraries would cost at least.
 */
#include <isa-l/crc.h>
#include <pcap/pcap.h>
#include <stdint.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    char error[PCAP_ERRBUF_SIZE] = "usage: bare FILE.pcap";
    pcap_t *pcap =
        argc == 2 ? pcap_open_offline_with_tstamp_precision(argv[1], PCAP_TSTAMP_PRECISION_NANO, error) : NULL;
    if (!pcap) {
        fprintf(stderr, "%s\n", error);
        return 2;
    }
    struct pcap_pkthdr *header;
    const uint8_t *data;
    uint64_t packets = 0;
    uint32_t sum = 0; /* printed, so that no CRC can be left out */
    while (pcap_next_ex(pcap, &header, &data) == 1) {
        sum ^= crc32_gzip_refl(0, data, header->caplen);
        packets++;
    }
    printf("%llu %08x\n", (unsigned long long)packets, sum);
    pcap_close(pcap);
    return 0;
}
