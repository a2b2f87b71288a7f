/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Class of service of a switch as Junos has it: classes, classifiers, pauses, marking, schedulers, the shared buffer.
 */
#include <string.h>

#include "config/junos/emit.h"
#include "config/unsupported.h"
#include "fabric/fabric.h"
#include "fabric/switches.h"

static uint32_t frame_of(const struct fabric *fabric, uint32_t port)
{
    const struct fabric_settings *settings = config_settings(fabric, port);

    return settings->headroom_frame_bytes ? settings->headroom_frame_bytes : settings->mtu_bytes;
}

static bool same_schedule(const struct fabric *fabric, uint32_t a, uint32_t b)
{
    return config_same_queue_map(fabric, a, b) && config_same_queues(fabric, a, b);
}

static bool same_pauses(const struct fabric *fabric, uint32_t a, uint32_t b)
{
    const struct fabric_settings *x = config_settings(fabric, a), *y = config_settings(fabric, b);
    bool watched = (x->watched & config_paused(x)) != 0, other = (y->watched & config_paused(y)) != 0;

    return config_paused(x) == config_paused(y) && config_same_trusted(fabric, a, b) &&
           config_headroom_metres(fabric, a) == config_headroom_metres(fabric, b) &&
           frame_of(fabric, a) == frame_of(fabric, b) && watched == other;
}

void junos_emit_prepare(struct junos_out *out)
{
    const struct config_emit *emit = out->print.emit;
    const struct fabric *fabric = emit->fabric;
    struct config_alike queues;

    config_alike(emit, &out->arena, config_same_trusted, &out->classifiers);
    config_alike(emit, &out->arena, same_schedule, &out->maps);
    config_alike(emit, &out->arena, same_pauses, &out->pauses);
    config_alike(emit, &out->arena, config_same_queue_map, &queues);
    memcpy(out->queue, config_settings(fabric, queues.port[0])->tc_to_queue, sizeof(out->queue));
    for (uint32_t c = 0; c < fabric->class_count; c++)
        out->used |= (uint8_t)(1u << fabric->classes[c].priority);
    for (uint32_t p = 0; p < out->node->ports; p++) {
        const struct fabric_settings *as = config_settings(fabric, out->node->first_port + p);
        out->lossless |= as->lossless;
        for (unsigned d = 0; d < 64 && as->trust == SW_TRUST_DSCP; d++)
            out->used |= (uint8_t)(1u << as->dscp_to_tc[d]);
        for (unsigned d = 0; d < 8 && as->trust == SW_TRUST_PCP; d++)
            out->used |= (uint8_t)(1u << as->pcp_to_tc[d]);
    }
    out->used |= out->lossless;
}

/* `TC3-rdma`: the number that it has in the fabric, and its name. */
static const char *class_name(const struct junos_out *out, unsigned tc, char buf[64])
{
    const struct fabric_class *class = config_class_of(out->print.emit->fabric, tc);

    snprintf(buf, 64, class ? "TC%u-%.40s" : "TC%u", tc, class ? class->name : "");
    for (char *c = buf; *c; c++)
        if (!((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') || strchr("-_", *c)))
            *c = '-';
    return buf;
}

static const char *bits(unsigned value, unsigned count, char buf[8])
{
    for (unsigned i = 0; i < count; i++)
        buf[i] = value >> (count - 1 - i) & 1 ? '1' : '0';
    buf[count] = 0;
    return buf;
}

static void emit_classifier(struct junos_out *out, uint32_t kind)
{
    const struct fabric_settings *as = config_settings(out->print.emit->fabric, out->classifiers.port[kind]);
    bool pcp = as->trust == SW_TRUST_PCP;
    char name[CONFIG_NUMBERED], class[64], path[JUNOS_PATH], points[64 * 8], point[8];

    for (unsigned tc = 0; tc < FABRIC_PRIOS; tc++) {
        unsigned count = 0;
        size_t length = 0;
        points[0] = 0;
        for (unsigned v = 0; v < (pcp ? 8u : 64u); v++) {
            if ((pcp ? as->pcp_to_tc[v] : as->dscp_to_tc[v]) != tc) continue;
            length += (size_t)snprintf(points + length, sizeof(points) - length, "%s%s", count++ ? " " : "",
                                       bits(v, pcp ? 3 : 6, point));
        }
        if (!count) continue;
        snprintf(path, sizeof(path), "class-of-service|classifiers|%s %s|forwarding-class %s",
                 pcp ? "ieee-802.1" : "dscp", config_numbered("ROCELAB", kind, name), class_name(out, tc, class));
        if (count > 1)
            junos_print(&out->print, path, "loss-priority low code-points [ %s ]", points);
        else
            junos_print(&out->print, path, "loss-priority low code-points %s", points);
    }
}

/* --- the buffer --- */

static void emit_buffer(struct junos_out *out)
{
    static const char ingress[] = "class-of-service|shared-buffer|ingress|buffer-partition ";
    struct junos_parts parts = junos_parts_of(out->sw);
    char path[JUNOS_PATH];
    int alpha = config_one_alpha(out->print.emit->fabric, out->node);

    junos_print_comment(&out->print, "HR003, BUF001: room for what is not to be lost");
    snprintf(path, sizeof(path), "%slossless", ingress);
    junos_print(&out->print, path, "percent %u", parts.lossless);
    if (alpha >= 0) junos_print(&out->print, path, "dynamic-threshold %d", alpha);
    snprintf(path, sizeof(path), "%slossless-headroom", ingress);
    junos_print(&out->print, path, "percent %u", parts.headroom);
    snprintf(path, sizeof(path), "%slossy", ingress);
    junos_print(&out->print, path, "percent %u", parts.lossy);
    junos_print(&out->print, "class-of-service|shared-buffer|egress|buffer-partition lossless", "percent %u",
                parts.lossless); /* as much as comes in: QFX5220 and later take nothing else */
    junos_print(&out->print, "class-of-service|shared-buffer|egress|buffer-partition lossy", "percent %u", parts.lossy);
}

/* --- pauses --- */

static void emit_input(struct junos_out *out, const char *profile, uint32_t port)
{
    const struct fabric *fabric = out->print.emit->fabric;
    const struct fabric_settings *as = config_settings(fabric, port);
    bool pcp = as->trust == SW_TRUST_PCP;
    uint8_t pauses = config_paused(as) & out->lossless;
    char path[JUNOS_PATH], point[8];

    for (unsigned v = 0; v < (pcp ? 8u : 64u); v++) {
        if (!(pauses >> (pcp ? v : as->dscp_to_tc[v]) & 1)) continue;
        snprintf(path, sizeof(path), "%s|input|%s|code-point %s|pfc", profile, pcp ? "ieee-802.1" : "dscp",
                 bits(v, pcp ? 3 : 6, point));
        junos_print(&out->print, path, "mru %u", frame_of(fabric, port));
    }
    snprintf(path, sizeof(path), "%s|input", profile);
    uint64_t metres = config_headroom_metres(fabric, port);
    if (metres) junos_print(&out->print, path, "cable-length %llu", (unsigned long long)metres);
}

static void emit_watchdog(struct junos_out *out, const char *profile)
{
    const struct fabric_watchdog *as = &out->sw->watchdog;
    unsigned poll = config_within_ms(as->poll_ps, JUNOS_POLL_LEAST_MS, JUNOS_POLL_MOST_MS);
    uint64_t polls = (as->detect_ps / PS_MS + poll - 1) / poll;
    char path[JUNOS_PATH];

    snprintf(path, sizeof(path), "%s|pfc-watchdog", profile);
    junos_print(&out->print, path, "poll-interval %u", poll);
    junos_print(&out->print, path, "detection %u",
                polls < JUNOS_POLLS_LEAST  ? JUNOS_POLLS_LEAST
                : polls > JUNOS_POLLS_MOST ? JUNOS_POLLS_MOST
                                           : (unsigned)polls);
    junos_print(&out->print, path, "recovery %u",
                config_within_ms(as->restore_ps, JUNOS_RECOVERY_LEAST_MS, JUNOS_RECOVERY_MOST_MS));
    junos_print(&out->print, path, "watchdog-action %s", as->drop ? "drop" : "forward");
}

static void emit_pauses(struct junos_out *out, uint32_t kind)
{
    uint32_t port = out->pauses.port[kind];
    const struct fabric_settings *as = config_settings(out->print.emit->fabric, port);
    uint8_t pauses = config_paused(as) & out->lossless;
    char name[CONFIG_NUMBERED], profile[JUNOS_PATH / 2], path[JUNOS_PATH], point[8];

    if (!pauses) return;
    snprintf(profile, sizeof(profile), "class-of-service|congestion-notification-profile|%s",
             config_numbered("ROCELAB-PFC", kind, name));
    if (out->sw->watchdog.on && (as->watched & config_paused(as))) emit_watchdog(out, profile);
    emit_input(out, profile, port);
    for (unsigned p = 0; p < FABRIC_PRIOS; p++) {
        if (!(pauses >> p & 1)) continue;
        snprintf(path, sizeof(path), "%s|output|ieee-802.1|code-point %s", profile, bits(p, 3, point));
        junos_print(&out->print, path, "flow-control-queue %u", out->queue[p]);
    }
}

/* --- queues --- */

static const char *scheduler_name(uint32_t kind, unsigned queue, char buf[40])
{
    char name[CONFIG_NUMBERED];

    snprintf(buf, 40, "%.32s-q%u", config_numbered("ROCELAB", kind, name), queue);
    return buf;
}

/* Is a class without loss in this queue? */
static bool without_loss(const struct fabric_settings *as, uint8_t lossless, unsigned queue)
{
    for (unsigned tc = 0; tc < FABRIC_PRIOS; tc++)
        if ((lossless >> tc & 1) && as->tc_to_queue[tc] == queue) return true;
    return false;
}

static void emit_profiles(struct junos_out *out, uint32_t kind)
{
    const struct fabric_settings *as = config_settings(out->print.emit->fabric, out->maps.port[kind]);
    uint8_t queues = config_queues(out->print.emit->fabric, as);
    char name[40], path[JUNOS_PATH];
    unsigned fill[2];

    for (unsigned q = 0; q < FABRIC_PRIOS; q++) {
        if (!(queues >> q & 1) || !as->queue[q].ecn.on) continue;
        junos_fill(junos_queue_written(out->sw, without_loss(as, out->lossless, q)), &as->queue[q].ecn, fill);
        snprintf(path, sizeof(path), "class-of-service|drop-profiles|%s|interpolate", scheduler_name(kind, q, name));
        junos_print(&out->print, path, "fill-level [ %u %u ]", fill[0], fill[1]);
        junos_print(&out->print, path, "drop-probability [ 0 %u ]", config_percent(as->queue[q].ecn.probability_ppm));
    }
}

static void emit_map(struct junos_out *out, uint32_t kind)
{
    const struct fabric *fabric = out->print.emit->fabric;
    const struct fabric_settings *as = config_settings(fabric, out->maps.port[kind]);
    uint8_t queues = config_queues(fabric, as);
    char name[CONFIG_NUMBERED], class[64], scheduler[40], path[JUNOS_PATH];

    snprintf(path, sizeof(path), "class-of-service|scheduler-maps|%s", config_numbered("ROCELAB", kind, name));
    for (unsigned tc = 0; tc < FABRIC_PRIOS; tc++) {
        unsigned q = as->tc_to_queue[tc];
        if (!(out->used >> tc & 1) || !(queues >> q & 1)) continue;
        junos_print(&out->print, path, "forwarding-class %s scheduler %s", class_name(out, tc, class),
                    scheduler_name(kind, q, scheduler));
    }
}

static void emit_schedulers(struct junos_out *out, uint32_t kind)
{
    const struct fabric_settings *as = config_settings(out->print.emit->fabric, out->maps.port[kind]);
    uint8_t queues = config_queues(out->print.emit->fabric, as);
    unsigned percent[FABRIC_PRIOS];
    char name[40], path[JUNOS_PATH];

    config_percents(as, queues, false, percent);
    for (unsigned q = 0; q < FABRIC_PRIOS; q++) {
        if (!(queues >> q & 1)) continue;
        snprintf(path, sizeof(path), "class-of-service|schedulers|%s", scheduler_name(kind, q, name));
        if (as->queue[q].strict)
            junos_print(&out->print, path, "priority strict-high");
        else if (percent[q])
            junos_print(&out->print, path, "transmit-rate percent %u", percent[q]);
        if (!as->queue[q].strict) junos_print(&out->print, path, "priority low");
        if (!as->queue[q].ecn.on) continue;
        junos_print(&out->print, path, "drop-profile-map loss-priority any protocol any drop-profile %s", name);
        junos_print(&out->print, path, "explicit-congestion-notification");
    }
}

/* --- what ports have --- */

static void emit_binding(struct junos_out *out, uint32_t p)
{
    uint32_t port = out->node->first_port + p;
    const struct fabric_settings *as = config_settings(out->print.emit->fabric, port);
    char label[FABRIC_NAME], path[JUNOS_PATH], inner[JUNOS_PATH + 32], name[CONFIG_NUMBERED];

    config_port_label(out->print.emit, &config_junos, port, label, sizeof(label));
    snprintf(path, sizeof(path), "class-of-service|interfaces|%s", label);
    if (config_paused(as) & out->lossless)
        junos_print(&out->print, path, "congestion-notification-profile %s",
                    config_numbered("ROCELAB-PFC", out->pauses.of[p], name));
    junos_print(&out->print, path, "scheduler-map %s", config_numbered("ROCELAB", out->maps.of[p], name));
    snprintf(inner, sizeof(inner), "%s|unit 0|classifiers", path);
    junos_print(&out->print, inner, "%s %s", as->trust == SW_TRUST_PCP ? "ieee-802.1" : "dscp",
                config_numbered("ROCELAB", out->classifiers.of[p], name));
}

void junos_emit_cos(struct junos_out *out)
{
    char class[64], text[128];

    junos_print_comment(&out->print, "MAP001, MAP003, MAP005, PFC004: the field that names the class");
    for (uint32_t kind = 0; kind < out->classifiers.kinds; kind++)
        emit_classifier(out, kind);
    snprintf(text, sizeof(text),
             "ECN001, ECN002: marking, in per cent of what a queue may hold: %llu KB, %llu KB with loss",
             (unsigned long long)(junos_queue_written(out->sw, true) / 1000),
             (unsigned long long)(junos_queue_written(out->sw, false) / 1000));
    junos_print_comment(&out->print, text);
    for (uint32_t kind = 0; kind < out->maps.kinds; kind++)
        emit_profiles(out, kind);
    if (out->lossless) emit_buffer(out);
    junos_print_comment(&out->print, "PFC007: a class, its queue, and the priority of its pauses");
    for (unsigned tc = 0; tc < FABRIC_PRIOS; tc++) {
        if (!(out->used >> tc & 1)) continue;
        if (out->lossless >> tc & 1)
            junos_print(&out->print, "class-of-service|forwarding-classes",
                        "class %s queue-num %u no-loss pfc-priority %u", class_name(out, tc, class), out->queue[tc],
                        tc);
        else
            junos_print(&out->print, "class-of-service|forwarding-classes", "class %s queue-num %u",
                        class_name(out, tc, class), out->queue[tc]);
    }
    junos_print_comment(&out->print, out->sw->watchdog.on
                                         ? "PFC001, PFC002, HR002, WD001, WD002: pauses"
                                         : "PFC001, PFC002, HR002: pauses; no watchdog, which WD001 wants");
    for (uint32_t kind = 0; kind < out->pauses.kinds; kind++)
        emit_pauses(out, kind);
    junos_print_comment(&out->print, "MAP007: what each port has of all this");
    for (uint32_t p = 0; p < out->node->ports; p++)
        emit_binding(out, p);
    junos_print_comment(&out->print, "SCH001, MAP005: shares; CNPs are strict");
    for (uint32_t kind = 0; kind < out->maps.kinds; kind++)
        emit_map(out, kind);
    for (uint32_t kind = 0; kind < out->maps.kinds; kind++)
        emit_schedulers(out, kind);
}
