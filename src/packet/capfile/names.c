/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names for people: link types (the registry of draft-ietf-opsawg-pcaplinktype, those a network
 * capture may have), and what a file is that is not a capture.
 */
#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "packet/capfile/capfile.h"
#include "packet/capfile/capfile_int.h"

static const struct {
    uint32_t link_type;
    const char *name;
} link_names[] = {
    {0, "BSD loopback"},
    {1, "Ethernet"},
    {6, "IEEE 802.5 Token Ring"},
    {8, "SLIP"},
    {9, "PPP"},
    {10, "FDDI"},
    {50, "PPP over HDLC"},
    {51, "PPP over Ethernet"},
    {101, "raw IP"},
    {104, "Cisco HDLC"},
    {105, "IEEE 802.11"},
    {108, "OpenBSD loopback"},
    {113, "Linux cooked (SLL)"},
    {117, "OpenBSD pf log"},
    {119, "IEEE 802.11 with Prism header"},
    {122, "IP over Fibre Channel"},
    {127, "IEEE 802.11 with radiotap header"},
    {138, "IP over IEEE 1394"},
    {163, "IEEE 802.11 with AVS header"},
    {187, "Bluetooth HCI"},
    {189, "USB (Linux)"},
    {192, "per-packet information"},
    {195, "IEEE 802.15.4"},
    {197, "ERF"},
    {201, "Bluetooth HCI with direction"},
    {220, "USB (Linux, padded)"},
    {224, "Fibre Channel FC-2"},
    {225, "Fibre Channel FC-2 with delimiters"},
    {227, "CAN bus"},
    {228, "raw IPv4"},
    {229, "raw IPv6"},
    {239, "Linux netfilter log"},
    {240, "Hilscher netANALYZER"},
    {242, "IP over InfiniBand"},
    {247, "InfiniBand"},
    {249, "USB (Windows)"},
    {252, "Wireshark upper PDU"},
    {253, "Linux netlink"},
    {272, "nRF sniffer"},
    {274, "Ethernet with mPacket preamble"},
    {276, "Linux cooked (SLL2)"},
    {280, "Elee lawful intercept"},
    {283, "IEEE 802.15.4 TAP"},
};

const char *capfile_link_name(uint32_t link_type)
{
    for (size_t i = 0; i < sizeof(link_names) / sizeof(link_names[0]); i++)
        if (link_names[i].link_type == link_type) return link_names[i].name;
    return "unknown";
}

/* Files that people do hand to a capture reader. */
static const struct {
    const char *magic;
    uint8_t bytes;
    const char *what;
} known[] = {
    {"\x1f\x8b", 2, "gzip-compressed; run `zcat FILE | rocelab capture -`"},
    {"\x28\xb5\x2f\xfd", 4, "zstd-compressed; run `zstdcat FILE | rocelab capture -`"},
    {"\xfd"
     "7zXZ",
     5, "xz-compressed; run `xzcat FILE | rocelab capture -`"},
    {"BZh", 3, "bzip2-compressed; run `bzcat FILE | rocelab capture -`"},
    {"\x04\x22\x4d\x18", 4, "lz4-compressed; run `lz4cat FILE | rocelab capture -`"},
    {"PK\x03\x04", 4, "a zip archive; run `unzip -p FILE | rocelab capture -`"},
    {"snoop\0\0\0", 8, "a Solaris snoop capture; run `editcap -F pcapng FILE OUT.pcapng` (Wireshark) first"},
    {"RTSS", 4, "a Network Monitor 1 capture; run `editcap -F pcapng FILE OUT.pcapng` (Wireshark) first"},
    {"GMBU", 4, "a Network Monitor 2 capture; run `editcap -F pcapng FILE OUT.pcapng` (Wireshark) first"},
    {"TRSNIFF data    \x1a", 17, "a Sniffer capture; run `editcap -F pcapng FILE OUT.pcapng` (Wireshark) first"},
    {"\x7f"
     "ELF",
     4, "a program, not a capture"},
};

static bool is_text(const uint8_t *at, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (!isprint(at[i]) && !isspace(at[i])) return false;
    return true;
}

void capfile_say_not_a_capture(const struct capfile *file, char *error)
{
    const uint8_t *at = capfile_at(file);
    size_t have = capfile_have(file), shown = have < 8 ? have : 8;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (have < known[i].bytes || memcmp(at, known[i].magic, known[i].bytes) != 0) continue;
        shown = known[i].bytes < 4 ? known[i].bytes : 4;
        char hex[16];
        for (size_t j = 0; j < shown; j++)
            snprintf(hex + 3 * j, 4, "%02x ", at[j]);
        hex[3 * shown - 1] = '\0';
        capfile_say(error, "begins with %s: %s", hex, known[i].what);
        return;
    }
    if (is_text(at, have < 64 ? have : 64)) {
        size_t letters = 0;
        while (letters < have && letters < 24 && isprint(at[letters]))
            letters++;
        capfile_say(error, "begins with \"%.*s\": text, neither pcap nor pcapng", (int)letters, (const char *)at);
        return;
    }
    char hex[32];
    for (size_t j = 0; j < shown; j++)
        snprintf(hex + 3 * j, 4, "%02x ", at[j]);
    hex[3 * shown - 1] = '\0';
    capfile_say(error, "begins with %s: neither pcap nor pcapng", hex);
}
