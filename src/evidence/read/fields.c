/* SPDX-License-Identifier: Apache-2.0 */
/* Words of lines, and numbers as operators' commands print them. */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "evidence/read/reader.h"

size_t field_split(const char *line, struct text_field *field, size_t most)
{
    size_t count = 0;

    for (;;) {
        while (*line && isspace((unsigned char)*line))
            line++;
        if (!*line) return count;
        const char *end = line;
        while (*end && !isspace((unsigned char)*end))
            end++;
        if (count < most) field[count] = (struct text_field){line, (size_t)(end - line)};
        count++;
        line = end;
    }
}

bool field_is(const struct text_field *field, const char *text)
{
    return strlen(text) == field->length && !memcmp(field->at, text, field->length);
}

bool field_number(const struct text_field *field, uint64_t *value)
{
    return json_text_u64(field->at, field->length, value);
}

bool field_real(const struct text_field *field, double *value)
{
    return json_text_real(field->at, field->length, value);
}

int field_suffix(const struct text_field *field, const char *prefix)
{
    size_t letters = strlen(prefix);
    uint64_t number;

    if (field->length <= letters || memcmp(field->at, prefix, letters)) return -1;
    struct text_field digits = {field->at + letters, field->length - letters};
    return field_number(&digits, &number) && number < 1000 ? (int)number : -1;
}

struct text_field field_of(const char *text)
{
    return text ? (struct text_field){text, strlen(text)} : (struct text_field){"", 0};
}

bool field_like_all(const struct text_field *field, const char *pattern, unsigned *number)
{
    const char *mark = strchr(pattern, '#');
    uint64_t value;

    *number = EVIDENCE_NO_PRIORITY;
    if (!mark) return field_is(field, pattern);
    size_t before = (size_t)(mark - pattern), after = strlen(mark + 1);
    if (field->length <= before + after || memcmp(field->at, pattern, before) ||
        memcmp(field->at + field->length - after, mark + 1, after))
        return false;
    struct text_field digits = {field->at + before, field->length - before - after};
    if (!isdigit((unsigned char)*digits.at) || !field_number(&digits, &value) || value >= EVIDENCE_NO_PRIORITY)
        return false;
    *number = (unsigned)value;
    return true;
}

bool field_rate(const struct text_field *field, uint64_t *bps)
{
    size_t digits = 0;
    double value;
    uint64_t unit = 1000000;

    if (field->length > 2 && !memcmp(field->at, "a-", 2)) /* negotiated */
        return field_rate(&(struct text_field){field->at + 2, field->length - 2}, bps);
    while (digits < field->length &&
           (isdigit((unsigned char)field->at[digits]) || field->at[digits] == '.' || field->at[digits] == ','))
        digits++;
    struct text_field number = {field->at, digits};
    if (!digits || !field_real(&number, &value)) return false;
    while (digits < field->length && isspace((unsigned char)field->at[digits]))
        digits++;
    if (digits < field->length) {
        char letter = field->at[digits];
        unit = letter == 'T'                    ? 1000000000000
               : letter == 'G' || letter == 'g' ? 1000000000
               : letter == 'M' || letter == 'm' ? 1000000
               : letter == 'K' || letter == 'k' ? 1000
               : letter == 'b'                  ? 1
                                                : 0;
    }
    if (!unit || !(value >= 0) || value * (double)unit > 1e18) return false;
    *bps = (uint64_t)(value * (double)unit + 0.5);
    return true;
}

bool field_bytes(const struct text_field *field, uint64_t *bytes)
{
    static const char units[] = "KMGT";
    size_t digits = 0;
    double value, unit = 1;

    while (digits < field->length &&
           (isdigit((unsigned char)field->at[digits]) || field->at[digits] == '.' || field->at[digits] == ','))
        digits++;
    struct text_field number = {field->at, digits};
    if (!digits || !field_real(&number, &value)) return false;
    while (digits < field->length && field->at[digits] == ' ')
        digits++;
    if (digits < field->length && field->at[digits] != 'B') {
        const char *at = strchr(units, field->at[digits]);
        if (!at || digits + 2 > field->length || field->at[digits + 1] != 'B') return false;
        for (const char *k = units; k <= at; k++)
            unit *= 1024;
    }
    if (!(value >= 0) || value * unit > 1e18) return false;
    *bytes = (uint64_t)(value * unit + 0.5);
    return true;
}

static bool is_one_of(const struct text_field *field, const char *const *list)
{
    for (size_t i = 0; list[i]; i++)
        if (strlen(list[i]) == field->length && !strncasecmp(list[i], field->at, field->length)) return true;
    return false;
}

bool field_state(const struct text_field *field, uint64_t *up)
{
    static const char *const ups[] = {"up", "U", "connected", "ACTIVE", "LINK_UP", "yes", NULL};
    static const char *const downs[] = {"down",       "D",          "X",           "notconnect",  "notconnec",
                                        "disabled",   "Polling",    "linkdown",    "errdisabled", "err-disabled",
                                        "no",         "INIT",       "xcvrAbsen",   "errDisabled", "errDisabl",
                                        "errdisable", "linkFlapE",  "linkFlapErr", "admin-down",  "administratively",
                                        "sfpAbsent",  "notPresent", "inactive",    NULL};

    *up = is_one_of(field, ups);
    return *up || is_one_of(field, downs);
}

static const char *const other_interfaces[] = {
    "PortChannel", "Port-Channel", "port-channel", "Po",     "Vlan",   "Loopback", "loopback",
    "Lo",          "lo",           "Management",   "Ma",     "mgmt",   "cpu",      "CPU",
    "Nve",         "nve",          "Vl",           "Tunnel", "docker", "Recirc",   "bond",
    "irb",         "fxp",          "vme",          "ae",     "Vxlan",  "Vx",       NULL};

bool field_is_interface(const struct text_field *field)
{
    size_t letters = 0;

    while (letters < field->length && (isalpha((unsigned char)field->at[letters]) || field->at[letters] == '-'))
        letters++;
    for (size_t i = 0; other_interfaces[i]; i++)
        if (strlen(other_interfaces[i]) == letters && !strncmp(other_interfaces[i], field->at, letters))
            return letters < field->length && isdigit((unsigned char)field->at[letters]);
    return field_is_port(field);
}

bool field_is_port(const struct text_field *field)
{
    size_t letters = 0;
    bool digit = false;

    while (letters < field->length && (isalpha((unsigned char)field->at[letters]) || field->at[letters] == '-'))
        letters++;
    if (!letters || letters == field->length || field->length > 64) return false;
    for (size_t i = 0; i < field->length; i++) {
        digit |= isdigit((unsigned char)field->at[i]) != 0;
        if (!isalnum((unsigned char)field->at[i]) && !strchr("/-._:|@", field->at[i])) return false;
    }
    if (!digit || memchr(field->at, '@', field->length)) return false;
    for (size_t i = 0; other_interfaces[i]; i++)
        if (strlen(other_interfaces[i]) == letters && !strncmp(other_interfaces[i], field->at, letters)) return false;
    return true;
}

bool line_words_all(const char *line, const char *words)
{
    for (;;) {
        while (isspace((unsigned char)*line))
            line++;
        while (isspace((unsigned char)*words))
            words++;
        if (!*words) return true;
        size_t length = strcspn(words, " ");
        if (strncmp(line, words, length) || (line[length] && !isspace((unsigned char)line[length]))) return false;
        line += length;
        words += length;
    }
}

bool line_has(const char *line, const char *text)
{
    return strstr(line, text) != NULL;
}

/* --- what is set --- */

#define NAME 128

uint32_t reading_own_device(struct reading *in)
{
    if (in->device != EVIDENCE_NONE || !in->by_file) return in->device;
    in->guessed = true;
    return in->device = evidence_device(in->evidence, in->by_file, strlen(in->by_file));
}

/* Whether it is known of which device the text is; where it is not that is said, once. */
static bool has_device(struct reading *in)
{
    if (reading_own_device(in) != EVIDENCE_NONE) return true;
    if (!in->said)
        evidence_remark(in->evidence, in->source.file, in->source.line ? in->source.line : 1,
                        "which device this is of is not said: put the file into a folder of the device's name, "
                        "DIR/DEVICE/FILE, and give DIR");
    in->said = true;
    return false;
}

void reading_device(struct reading *in, const struct text_field *name)
{
    if (!name->length || (in->device != EVIDENCE_NONE && !in->guessed)) return;
    in->device = evidence_device(in->evidence, name->at, name->length);
    in->guessed = true;
}

uint32_t reading_port(struct reading *in, const struct text_field *name)
{
    struct text_field at = *name;
    char full[NAME];

    if (!has_device(in)) return EVIDENCE_NONE;
    for (size_t i = at.length; i--;) { /* a system port of a chassis: "leaf0|asic0|Ethernet4" */
        if (at.at[i] != '|') continue;
        at.at += i + 1;
        at.length -= i + 1;
        break;
    }
    size_t letters = at.length > 2 && !memcmp(at.at, "Et", 2) ? 2 : 0;
    if (letters && at.at[2] == 'h') letters = 3;
    if (at.length > 3 && !memcmp(at.at, "eth", 3) && memchr(at.at, '/', at.length))
        letters = 3; /* a host's has no '/' */
    if (letters && at.length > letters && isdigit((unsigned char)at.at[letters]) && at.length < NAME - 8) {
        memcpy(full, "Ethernet", 8);
        memcpy(full + 8, at.at + letters, at.length - letters);
        at = (struct text_field){full, 8 + at.length - letters};
    }
    return evidence_port(in->evidence, in->device, at.at, at.length);
}

bool reading_state(struct reading *in, uint32_t port, const struct text_field *state)
{
    static const char *const disabled[] = {"errdisabled", "err-disabled", "errDisabled", "errDisabl",
                                           "errdisable",  "linkFlapE",    "linkFlapErr", NULL},
                             *const shut[] = {"disabled", "admin-down", "administratively", NULL};
    enum evidence_event_kind kind =
        is_one_of(state, disabled) ? EVIDENCE_EVENT_PORT_DISABLED : EVIDENCE_EVENT_PORT_SHUT;
    uint64_t up;

    if (!field_state(state, &up)) return false;
    if (port == EVIDENCE_NONE) return true;
    evidence_set(in->evidence, port, EVIDENCE_NO_PRIORITY, EVIDENCE_LINK_UP, up, &in->source);
    if (kind == EVIDENCE_EVENT_PORT_DISABLED || is_one_of(state, shut))
        reading_event(in, kind, port, EVIDENCE_NO_PRIORITY, NULL, NULL, NULL);
    return true;
}

bool field_duration(const char *text, uint64_t *seconds)
{
    static const struct {
        const char *unit;
        uint32_t seconds;
    } units[] = {{"year", 31536000}, {"y", 31536000}, {"week", 604800}, {"w", 604800},  {"day", 86400},
                 {"d", 86400},       {"hour", 3600},  {"h", 3600},      {"minute", 60}, {"min", 60},
                 {"m", 60},          {"second", 1},   {"sec", 1},       {"s", 1}};
    uint64_t sum = 0, number, clock[3];
    unsigned parts = 0;

    while (isspace((unsigned char)*text))
        text++;
    for (; isdigit((unsigned char)*text); text += strspn(text, ", ")) {
        struct text_field digits = {text, strspn(text, "0123456789")};
        if (!field_number(&digits, &number) || number > 10000000) return false;
        text += digits.length;
        if (*text == ':' && parts < 2) { /* hours:minutes:seconds */
            clock[parts++] = number;
            text++;
            continue;
        }
        if (parts == 2) {
            *seconds = sum + clock[0] * 3600 + clock[1] * 60 + number;
            return true;
        }
        text += strspn(text, " ");
        size_t i = 0, letters = 0;
        while (isalpha((unsigned char)text[letters]))
            letters++;
        while (i < sizeof units / sizeof units[0] &&
               (strlen(units[i].unit) > letters || strncmp(text, units[i].unit, strlen(units[i].unit)) ||
                (strlen(units[i].unit) < letters && strlen(units[i].unit) == 1 && !isdigit((unsigned char)text[1]))))
            i++;
        if (i == sizeof units / sizeof units[0]) return false;
        sum += number * units[i].seconds;
        *seconds = sum;
        text += strlen(units[i].unit) == 1 ? 1 : letters;
        if (!strncmp(text, "(s)", 3)) text += 3;
        if (!*text || (*text != ',' && *text != ' ' && !isdigit((unsigned char)*text))) return true;
        if (*text == ' ' && !isdigit((unsigned char)text[1])) return true;
    }
    return false;
}

/* Where a name is a port's already, or could be one's that is met later, it is not taken: some call the port Ethernet0
 * Ethernet1. */
void reading_alias(struct reading *in, uint32_t port, const struct text_field *name)
{
    if (port == EVIDENCE_NONE || !field_is_port(name)) return;
    if (name->length > 8 && !memcmp(name->at, "Ethernet", 8) && !memchr(name->at, '/', name->length)) return;
    evidence_alias(in->evidence, port, name->at, name->length);
}

static bool copy(char *buf, size_t size, const struct text_field *field)
{
    if (!field->length || field->length >= size) return false;
    memcpy(buf, field->at, field->length);
    buf[field->length] = 0;
    return true;
}

void reading_description(struct reading *in, uint32_t port, const struct text_field *text)
{
    char line[2 * NAME], device[NAME], name[NAME];
    struct text_field word[4];

    if (!copy(line, sizeof line, text)) return;
    for (char *at = line; *at; at++)
        if (strchr(":|,;()[]\"'", *at)) *at = ' ';
    size_t words = field_split(line, word, 4), first = 0;
    if (words && (field_is(&word[0], "to") || field_is(&word[0], "To") || field_is(&word[0], "TO"))) first = 1;
    if (words > 4 || words - first != 2 || !field_is_port(&word[first + 1])) return;
    if (copy(device, sizeof device, &word[first]) && copy(name, sizeof name, &word[first + 1]))
        evidence_add_description(in->evidence, port, device, name, &in->source);
}

static bool is_mac(const struct text_field *field)
{
    size_t digits = 0;

    for (size_t i = 0; i < field->length; i++)
        if (isxdigit((unsigned char)field->at[i]))
            digits++;
        else if (!strchr(":.-", field->at[i]))
            return false;
    return digits == 12 && field->length > 12;
}

void reading_neighbour(struct reading *in, uint32_t port, const struct text_field *device,
                       const struct text_field *port_id, const struct text_field *port_description)
{
    char on[NAME], at[NAME];
    bool id = port_id->length && !is_mac(port_id);

    if (!copy(on, sizeof on, device) || !copy(at, sizeof at, id ? port_id : port_description)) return;
    evidence_add_neighbour(in->evidence, port, on, at, &in->source);
}

void reading_set(struct reading *in, uint32_t port, unsigned priority, enum evidence_counter counter,
                 const struct text_field *value)
{
    uint64_t number;

    if (field_number(value, &number)) evidence_set(in->evidence, port, priority, counter, number, &in->source);
}

static const char *text_of(char *buf, size_t size, const struct text_field *field)
{
    if (!field) return NULL;
    size_t length = field->length < size ? field->length : size - 1;
    memcpy(buf, field->at, length);
    buf[length] = 0;
    return buf;
}

void reading_event(struct reading *in, enum evidence_event_kind kind, uint32_t object, unsigned priority,
                   const struct text_field *from, const struct text_field *to, const struct text_field *detail)
{
    char text[3][256];

    evidence_add_event(in->evidence, &(struct evidence_event){
                                         .kind = (uint8_t)kind,
                                         .priority = (uint8_t)priority,
                                         .object = object != EVIDENCE_NONE ? object : in->device,
                                         .from = text_of(text[0], sizeof text[0], from),
                                         .to = text_of(text[1], sizeof text[1], to),
                                         .detail = text_of(text[2], sizeof text[2], detail),
                                         .first_s = in->clock_s,
                                         .last_s = in->clock_s,
                                         .file = in->source.file,
                                         .line = in->source.line,
                                     });
}

bool reading_named(struct reading *in, const struct counter_name *list, uint32_t object, unsigned priority,
                   const struct text_field *name, const struct text_field *value)
{
    unsigned own;
    uint64_t number;

    while (list->pattern && !field_like(name, list->pattern, &own))
        list++;
    if (!list->pattern) return false;
    if (own == EVIDENCE_NO_PRIORITY && evidence_counters[list->counter].scope == EVIDENCE_PRIORITY) own = priority;
    if (!field_number(value, &number) || (list->scale && __builtin_mul_overflow(number, list->scale, &number)))
        return true;
    (list->weak ? evidence_offer : evidence_set)(in->evidence, object, own, list->counter, number, &in->source);
    return true;
}

void reading_system(struct reading *in, const char *system, enum fabric_role role)
{
    if (!has_device(in)) return;
    struct evidence_object *device = &in->evidence->object[in->device];
    bool known = device->role != FABRIC_ROLES && device->role != FABRIC_ROLE_HOST;
    if (known && role == FABRIC_ROLE_HOST) return; /* tools of Linux on a switch */
    device->system = system;
    if (!known) device->role = (uint8_t)role;
}
