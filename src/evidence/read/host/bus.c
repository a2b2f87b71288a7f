/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Around the adapter: lspci's links, mlxlink, and nvidia-smi's NVLink counters and topology.
 */
#include <stdio.h>
#include <string.h>

#include "evidence/read/host/host_names.h"

/* --- lspci --- */

struct pci {
    char address[16];
    bool other; /* no adapter: GPUs save power by slower links, disks are none of ours */
};
_Static_assert(sizeof(struct pci) <= READER_STATE, "a reader's state");

/* "5e:00.0 Ethernet controller: …", "0000:5e:00.0 …" */
static size_t pci_address(const char *line)
{
    size_t at = strspn(line, "0123456789abcdef:");

    if (at < 5 || at > 10 || line[at] != '.' || line[at + 1] < '0' || line[at + 1] > '7' || line[at + 2] != ' ')
        return 0;
    return line[at - 3] == ':' ? at + 2 : 0;
}

static bool lspci_head(const char *line)
{
    if (pci_address(line)) return strchr(line + 8, ':') != NULL;
    return line_begins(line, "LnkSta:") || line_begins(line, "LnkCap:") || line_begins(line, "ACSCtl:");
}

static bool lspci_line(struct reading *in, const char *line)
{
    struct pci *state = (struct pci *)in->state;
    size_t address = pci_address(line);
    char text[128];

    if (address) {
        snprintf(state->address, sizeof state->address, "%.*s", (int)address, line);
        state->other = !strstr(line, "thernet") && !strstr(line, "nfiniband") && !strstr(line, "nfiniBand") &&
                       !strstr(line, "etwork");
        return true;
    }
    if (line_begins(line, "LnkSta:") && strstr(line, "downgraded") && !state->other && in->device != EVIDENCE_NONE) {
        const char *at = strstr(line, "Speed");
        snprintf(text, sizeof text, "PCIe link below what it could: %.*s%s%s", at ? (int)strcspn(at, "\t") : 0,
                 at ? at : "", *state->address ? " at " : "", state->address);
        struct text_field detail = field_of(text);
        reading_event(in, EVIDENCE_EVENT_BUS_ERROR, EVIDENCE_NONE, EVIDENCE_NO_PRIORITY, NULL, NULL, &detail);
    }
    return lspci_head(line) || *line == ' ' || *line == '\t';
}
const struct text_reader reader_lspci = {"lspci", "hosts: lspci -vv, also its LnkSta lines alone", lspci_head,
                                         lspci_line, NULL};

/* --- mlxlink --- */

static bool mlxlink_head(const char *line)
{
    if (*line == 'F' && line_words(line, "Field Name |")) return true; /* mlxreg's table */
    return !strncmp(line, "Operational Info", 16) || !strncmp(line, "Physical Counters and BER Info", 30) ||
           !strncmp(line, "Troubleshooting Info", 20);
}

/* "15E-255", "1E-9": what C takes for a number. */
static bool real_of(const struct text_field *value, double *number)
{
    struct text_field word;

    return value->length && field_split(value->at, &word, 1) && field_real(&word, number);
}

static bool mlxlink_line(struct reading *in, const char *line)
{
    static const struct counter_name names[] = {
        {"Link Down Counter", EVIDENCE_LINK_DOWN, 0, true},
        {"Effective Physical Errors", EVIDENCE_FEC_UNCORRECTED, 0, true},
        {"Symbol Errors", EVIDENCE_SYMBOL_ERRORS, 0, true},
        {NULL, 0, 0, false},
    };
    struct text_field label, value, word;
    double real;
    uint64_t number;

    if (mlxlink_head(line) || line[strspn(line, " \t-=")] == 0 || strstr(line, " | 0x")) return true;
    if (!host_label(line, &label, &value)) return strstr(line, " Info") != NULL;
    uint32_t port = host_hinted_port(in);
    if (port == EVIDENCE_NONE) return false;
    struct text_field host = field_of(in->hint);
    host_say_system(in, &host);
    if (field_is(&label, "State") && host_begins(&value, "active"))
        evidence_offer(in->evidence, port, EVIDENCE_NO_PRIORITY, EVIDENCE_LINK_UP, 1, &in->source);
    else if (field_is(&label, "State") &&
             (host_begins(&value, "down") || host_begins(&value, "disabled") || host_begins(&value, "polling")))
        host_port_state(in, port, false, NULL);
    else if (field_is(&label, "Speed") && field_rate(&value, &number))
        evidence_offer(in->evidence, port, EVIDENCE_NO_PRIORITY, EVIDENCE_RATE, number, &in->source);
    else if (field_is(&label, "Raw Physical BER") && real_of(&value, &real) && real <= 1)
        evidence_set_real(in->evidence, port, EVIDENCE_NO_PRIORITY, EVIDENCE_PRE_FEC_BER, real, &in->source);
    else if (host_begins(&label, "Temperature") && real_of(&value, &real))
        evidence_set_real(in->evidence, port, EVIDENCE_NO_PRIORITY, EVIDENCE_TEMPERATURE, real, &in->source);
    else if (field_is(&label, "Recommendation") && value.length && !host_begins(&value, "No issue"))
        reading_event(in, EVIDENCE_EVENT_LINE_FAULT, port, EVIDENCE_NO_PRIORITY, NULL, NULL, &value);
    else if (field_split(value.at, &word, 1))
        reading_named(in, names, port, EVIDENCE_NO_PRIORITY, &label, &word);
    return true;
}
const struct text_reader reader_mlxlink = {"mlxlink", "hosts: mlxlink -d DEV, also -c, -m", mlxlink_head, mlxlink_line,
                                           NULL};

/* --- nvidia-smi --- */

struct nvlink {
    char gpu[16];
};
_Static_assert(sizeof(struct nvlink) <= READER_STATE, "a reader's state");

/* "GPU 0: NVIDIA H100 (UUID: …)", of `nvlink -s` and `-e`; "GPU0 GPU1 …" of `topo -m`. */
static bool nvidia_head(const char *line)
{
    if (!strncmp(line, "GPU ", 4) && line[4] >= '0' && line[4] <= '9')
        return line[4 + strspn(line + 4, "0123456789")] == ':';
    if (*line != '\t' && strspn(line, " ") < 4) return false;
    return line_begins(line, "GPU0") && (strstr(line, "GPU1") || strstr(line, "Affinity"));
}

/* "Link 0: CRC Errors: 12": what is not 0 is told. */
static void nvlink_errors(struct reading *in, const struct nvlink *state, const char *line)
{
    struct text_field word;
    uint64_t number;
    char text[96];

    line += strspn(line, " \t");
    const char *what = strchr(line, ':'), *last = strrchr(line, ':');
    if (last == what || !field_split(last + 1, &word, 1) || !field_number(&word, &number)) return;
    if (in->device == EVIDENCE_NONE) return;
    reading_system(in, "host", FABRIC_ROLE_HOST);
    evidence_sum(in->evidence, in->device, EVIDENCE_NO_PRIORITY, EVIDENCE_NVLINK_ERRORS, number, &in->source);
    if (!number) return;
    int length = (int)(last - line);
    snprintf(text, sizeof text, "NVLink of GPU %s, %.*s: %.*s", state->gpu, length < 50 ? length : 50, line,
             word.length < 20 ? (int)word.length : 20, word.at);
    struct text_field detail = field_of(text);
    reading_event(in, EVIDENCE_EVENT_LINE_FAULT, EVIDENCE_NONE, EVIDENCE_NO_PRIORITY, NULL, NULL, &detail);
}

static bool nvidia_line(struct reading *in, const char *line)
{
    struct nvlink *state = (struct nvlink *)in->state;
    static const char *const known[] = {"GPU", "NIC", "mlx5_", "Legend:", "X ",    "SYS ", "NODE",
                                        "PHB", "PXB", "PIX",   "NV#",     "Link ", NULL};

    if (!strncmp(line, "GPU ", 4)) {
        snprintf(state->gpu, sizeof state->gpu, "%.*s", (int)strspn(line + 4, "0123456789") & 7, line + 4);
        return true;
    }
    if (line_begins(line, "Link ") && strstr(line, "rrors:")) nvlink_errors(in, state, line);
    for (size_t i = 0; known[i]; i++)
        if (line_begins(line, known[i])) return true;
    return false;
}
const struct text_reader reader_nvidia_smi = {"nvidia-smi", "hosts: nvidia-smi nvlink -s, -e, nvidia-smi topo -m",
                                              nvidia_head, nvidia_line, NULL};
