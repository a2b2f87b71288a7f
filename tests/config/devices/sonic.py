# SPDX-License-Identifier: Apache-2.0
"""A SONiC switch: config_db.json, `config apply-patch` with a JSON patch (RFC 6902), and some of the command line.

From the YANG models of sonic-buildimage (which field refers to which table), the command reference of sonic-utilities, and its
generic config updater: a patch is tried on the whole, checked against the models, and then put into an order of the switch's
own; it is in force as one.  The updater refuses any change of BUFFER_POOL, changes of a BUFFER_PROFILE's fields other than
dynamic_th, xoff and packet_discard_action (a whole profile may come and go), and the removal of PFC_WD|GLOBAL."""
import copy
import json
import re

from .base import Device, Refused, numbers

REFERS = {  # table: field: the table it points into
    "PORT_QOS_MAP": {"dscp_to_tc_map": "DSCP_TO_TC_MAP", "dot1p_to_tc_map": "DOT1P_TO_TC_MAP", "tc_to_queue_map": "TC_TO_QUEUE_MAP",
                     "tc_to_pg_map": "TC_TO_PRIORITY_GROUP_MAP", "pfc_to_queue_map": "MAP_PFC_PRIORITY_TO_QUEUE",
                     "pfc_to_pg_map": "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP", "tc_to_dscp_map": "TC_TO_DSCP_MAP", "scheduler": "SCHEDULER"},
    "QUEUE": {"scheduler": "SCHEDULER", "wred_profile": "WRED_PROFILE"},
    "BUFFER_PG": {"profile": "BUFFER_PROFILE"}, "BUFFER_QUEUE": {"profile": "BUFFER_PROFILE"},
    "BUFFER_PROFILE": {"pool": "BUFFER_POOL"}}
PORT_KEYED = ("PORT_QOS_MAP", "QUEUE", "BUFFER_PG", "BUFFER_QUEUE", "PFC_WD")
MODELLED = ("PORT", "CABLE_LENGTH", "PFC_WD", "BUFFER_POOL", "BUFFER_PROFILE", "SCHEDULER", "WRED_PROFILE", "PORTCHANNEL_MEMBER", *REFERS,
            *REFERS["PORT_QOS_MAP"].values())
MAPS = {"DSCP_TO_TC_MAP", "DOT1P_TO_TC_MAP", "TC_TO_QUEUE_MAP", "TC_TO_PRIORITY_GROUP_MAP", "MAP_PFC_PRIORITY_TO_QUEUE",
        "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP"}
FIELDS = ("dynamic_th", "xoff", "packet_discard_action")


def named(value):
    """A reference of today, or one of old in brackets: [TABLE|name]."""
    return value[1:-1].split("|", 1)[-1] if value.startswith("[") else value


class Sonic(Device):
    atomic = True

    def __init__(self, text):
        self.tables = json.loads(text)
        if len(self.tables) == 1 and not next(iter(self.tables)) in MODELLED:  # a sample with a name around it
            self.tables = next(iter(self.tables.values()))
        for key in [one for one in self.tables if "|" in one]:  # rows as the database has them
            table, _, rest = key.partition("|")
            self.tables.setdefault(table, {})[rest] = self.tables.pop(key)
        self.before = copy.deepcopy(self.tables)

    def text(self):
        return json.dumps(self.tables, indent=4) + "\n"

    def begin(self, commands):
        self.before = copy.deepcopy(self.tables)

    def statements(self, commands):
        if commands.lstrip().startswith("["):
            return [json.dumps(one) for one in json.loads(commands)]
        return super().statements(commands)

    def take(self, command):
        if command.startswith("{"):
            self.patched(json.loads(command), command)
        else:
            self.typed(command.split(), command)

    def patched(self, operation, command):
        parts = [part.replace("~1", "/").replace("~0", "~") for part in operation["path"].split("/")[1:]]
        place = self.tables
        for part in parts[:-1]:
            if part not in place:
                raise Refused("invalid", command[:160], f"{part} is not there to add to")
            place = place[part]
        if operation["op"] in ("remove", "replace") and parts[-1] not in place:
            raise Refused("invalid", command[:160], f"{parts[-1]} is not there")
        if operation["op"] == "remove":
            del place[parts[-1]]
        elif operation["op"] in ("add", "replace"):
            place[parts[-1]] = operation["value"]
        else:
            raise Refused("invalid", command[:160], "the model knows add, replace and remove")

    def typed(self, words, command):
        words = words[1:] if words[0] == "sudo" else words
        line = " ".join(words)
        port = self.tables.get("PORT", {})

        def known(name):
            if name not in port:
                raise Refused("undefined", command, f"there is no port {name}")
            return port[name]
        if re.fullmatch(r"config interface (mtu|speed|fec) \S+ \S+", line):
            known(words[3])[words[2]] = words[4]
        elif re.fullmatch(r"config interface (startup|shutdown) \S+", line):
            known(words[3])["admin_status"] = "up" if words[2] == "startup" else "down"
        elif re.fullmatch(r"config interface pfc priority \S+ [0-7] (on|off)", line):
            row = self.tables.setdefault("PORT_QOS_MAP", {}).setdefault(words[4], {})
            have = {one for one in row.get("pfc_enable", "").split(",") if one}
            row["pfc_enable"] = ",".join(sorted(have | {words[5]} if words[6] == "on" else have - {words[5]}))
        elif re.fullmatch(r"(config )?pfcwd stop \S+", line):
            self.tables.get("PFC_WD", {}).pop(words[-1], None)
        elif re.fullmatch(r"config portchannel member (add|del) \S+ \S+", line):
            rows = self.tables.setdefault("PORTCHANNEL_MEMBER", {})
            rows.update({f"{words[4]}|{words[5]}": {}}) if words[3] == "add" else rows.pop(f"{words[4]}|{words[5]}", None)
        elif re.fullmatch(r"config ecn -profile \S+ -(gmin|gmax|gdrop) \d+", line) and words[3] in self.tables.get("WRED_PROFILE", {}):
            field = {"-gmin": "green_min_threshold", "-gmax": "green_max_threshold", "-gdrop": "green_drop_probability"}[words[4]]
            self.tables["WRED_PROFILE"][words[3]][field] = words[5]
        else:
            raise Refused("invalid", command, "the model does not know this command")

    def commit(self):
        wrong = []
        for table, fields in REFERS.items():
            for key, row in self.tables.get(table, {}).items():
                for field, into in fields.items():
                    if isinstance(row, dict) and row.get(field) not in (None, "", "NULL") and named(row[field]) not in self.tables.get(into, {}):
                        was = self.before.get(table, {}).get(key, {}).get(field)
                        if was != row[field] or named(row[field]) in self.before.get(into, {}):
                            wrong.append(Refused("undefined", f"{table}|{key} {field}", f"{into} has no {named(row[field])}"))
        for table in ("BUFFER_PROFILE",):
            for key, row in self.tables.get(table, {}).items():
                if "pool" not in row or "size" not in row:
                    wrong.append(Refused("invalid", f"{table}|{key}", "a profile has a pool and a size"))
        ports = self.tables.get("PORT")
        for table in PORT_KEYED if ports else ():
            for key in self.tables.get(table, {}):
                for name in key.split("|")[0].split(","):
                    if name not in ports and name not in ("global", "GLOBAL") and key not in self.before.get(table, {}):
                        wrong.append(Refused("undefined", f"{table}|{key}", f"there is no port {name}"))
        return wrong + self.updater()

    def updater(self):
        """What the generic config updater does not let through; of other ways (the command line) nothing."""
        wrong = []
        if not self.by_patch:
            return wrong
        if self.tables.get("BUFFER_POOL") != self.before.get("BUFFER_POOL"):
            wrong.append(Refused("invalid", "BUFFER_POOL", "the config updater lets no pool be changed"))
        old, new = self.before.get("BUFFER_PROFILE", {}), self.tables.get("BUFFER_PROFILE", {})
        for key in old.keys() & new.keys():
            for field in old[key].keys() | new[key].keys():
                was, now = old[key].get(field), new[key].get(field)
                if was != now and (field not in FIELDS or None in (was, now)):
                    wrong.append(Refused("invalid", f"BUFFER_PROFILE|{key} {field}", "the config updater lets this field not be changed"))
        if "GLOBAL" in self.before.get("PFC_WD", {}) and "GLOBAL" not in self.tables.get("PFC_WD", {}):
            wrong.append(Refused("invalid", "PFC_WD|GLOBAL", "the config updater does not let it be removed"))
        return wrong

    by_patch = True

    # in force

    def rows(self, table):
        """(port, rest of the key, row), each port by itself."""
        for key, row in self.tables.get(table, {}).items():
            ports, _, rest = key.partition("|")
            for port in ports.split(","):
                yield port, rest, row

    def looked(self, table, name):
        found = self.tables.get(table, {}).get(named(name)) if isinstance(name, str) else None
        return tuple(sorted(found.items())) if isinstance(found, dict) else name

    def effective(self):
        state = {}
        for name, row in self.tables.get("PORT", {}).items():
            state.update({(name, "port", field): value for field, value in row.items()})
        for name, row in self.tables.get("BUFFER_POOL", {}).items():
            state.update({("pool", name, field): value for field, value in row.items()})
        for row in self.tables.get("CABLE_LENGTH", {}).values():
            state.update({(name, "cable"): value for name, value in row.items()})
        for key in self.tables.get("PORTCHANNEL_MEMBER", {}):
            state["lag", key] = True
        for port, _, row in self.rows("PFC_WD"):
            state.update({(port, "watchdog", field): value for field, value in row.items()})
        shared = self.tables.get("PORT_QOS_MAP", {}).get("global", {})
        for port, _, row in self.rows("PORT_QOS_MAP"):
            self.mapped(state, port, {**shared, **row})
        for port, rest, row in self.rows("QUEUE"):
            for queue in numbers(rest):
                self.queue(state, port, queue, row)
        self.shared(state)
        for table, kind in (("BUFFER_PG", "group"), ("BUFFER_QUEUE", "queue buffer")):
            for port, rest, row in self.rows(table):
                for number in numbers(rest):
                    profile = self.looked("BUFFER_PROFILE", row.get("profile"))
                    state[port, kind, number] = profile
                    if kind == "group" and isinstance(profile, tuple) and "xoff" in dict(profile):
                        state[port, "no-drop", number] = True
        return state

    @staticmethod
    def shared(state):
        """Weights mean what they are of all weights of a port: 30 of 60 is 40 of 80."""
        total = {}
        weights = {key: float(value) for key, value in state.items() if len(key) == 4 and key[1] == "scheduler" and key[3] == "weight"}
        for key, weight in weights.items():
            total[key[0]] = total.get(key[0], 0) + weight
        state.update({key: round(weight / total[key[0]], 3) for key, weight in weights.items() if total[key[0]]})

    def mapped(self, state, port, row):
        for field, value in row.items():
            if field == "pfc_enable":
                state.update({(port, "pfc", one): True for one in value.split(",") if one})
            elif field == "dscp_to_tc_map":
                found = self.looked("DSCP_TO_TC_MAP", value)
                state.update({(port, "class", dscp): to for dscp, to in found} if isinstance(found, tuple) else {(port, "class"): found})
            else:
                into = REFERS["PORT_QOS_MAP"].get(field)
                state[port, "map", field] = self.looked(into, value) if into else value

    def queue(self, state, port, queue, row):
        curve = self.looked("WRED_PROFILE", row.get("wred_profile"))
        for field, value in self.looked("SCHEDULER", row.get("scheduler")) or () if row.get("scheduler") else ():
            state[port, "scheduler", queue, field] = value
        if isinstance(curve, tuple):
            marks = dict(curve).get("ecn", "ecn_none") != "ecn_none"
            state[port, "ecn" if marks else "drops", queue] = curve
        elif curve:
            state[port, "drops", queue] = curve

    def others(self):
        return sorted(f"{table}|{key}: {json.dumps(row, sort_keys=True)}" for table, rows in self.tables.items() if table not in MODELLED
                      for key, row in (rows.items() if isinstance(rows, dict) else [("", rows)]))

    # what may drift

    def changes(self):
        found = []

        def patch(kind, *parts, **put):
            path = "/" + "/".join(part.replace("~", "~0").replace("/", "~1") for part in parts)
            operation = {"op": "replace" if "value" in put else "remove", "path": path, **put}
            found.append((kind, json.dumps([operation]) + "\n"))
        for name, row in self.tables.get("PORT", {}).items():
            if "mtu" in row:
                found += [("mtu", f"config interface mtu {name} {mtu}\n") for mtu in ("1500", "4200") if mtu != row["mtu"]]
            if row.get("admin_status") == "up":
                found.append(("state of a port", f"config interface shutdown {name}\n"))
        for key, row in self.tables.get("PORT_QOS_MAP", {}).items():
            for priority in row.get("pfc_enable", "").split(","):
                if priority and "," not in key:
                    found += [("pfc", f"config interface pfc priority {key} {priority} off\n"),
                              ("pfc", f"config interface pfc priority {key} {(int(priority) + 2) % 8} on\n")]
            if "dscp_to_tc_map" in row:
                patch("map of a port", "PORT_QOS_MAP", key, "dscp_to_tc_map")
        for name, row in self.tables.get("DSCP_TO_TC_MAP", {}).items():
            for dscp in [one for one in ("3", "4", "26", "48", "11") if one in row]:
                patch("dscp map", "DSCP_TO_TC_MAP", name, dscp, value="5" if row[dscp] != "5" else "1")
        for name, row in self.tables.get("WRED_PROFILE", {}).items():
            if "green_min_threshold" in row:
                patch("ecn threshold", "WRED_PROFILE", name, "green_min_threshold", value=str(int(row["green_min_threshold"]) // 2))
            if row.get("ecn", "ecn_none") != "ecn_none":
                patch("ecn off", "WRED_PROFILE", name, "ecn", value="ecn_none")
        for name, row in self.tables.get("SCHEDULER", {}).items():
            if int(row.get("weight", 0)) > 4:
                patch("weight", "SCHEDULER", name, "weight", value=str(int(row["weight"]) - 3))
        for key, row in self.tables.get("QUEUE", {}).items():
            if "wred_profile" in row:
                patch("ecn off", "QUEUE", key, "wred_profile")
        for key in self.tables.get("PFC_WD", {}):
            if key != "GLOBAL":
                found.append(("watchdog", f"pfcwd stop {key}\n"))
                if "detection_time" in self.tables["PFC_WD"][key]:
                    patch("watchdog", "PFC_WD", key, "detection_time", value="800")
        for name, row in self.tables.get("BUFFER_PROFILE", {}).items():
            if "xoff" in row:
                patch("buffer profile", "BUFFER_PROFILE", name, "xoff", value=str(int(row["xoff"]) // 2))
                if "dynamic_th" in row:
                    patch("buffer profile", "BUFFER_PROFILE", name, "dynamic_th", value="-3")
        for key, row in self.tables.get("BUFFER_PG", {}).items():
            if "xoff" in self.tables.get("BUFFER_PROFILE", {}).get(named(row.get("profile", "")), {}):
                patch("buffer of a port", "BUFFER_PG", key)
        for key in self.tables.get("PORTCHANNEL_MEMBER", {}):
            found.append(("LAG member", f"config portchannel member del {key.replace('|', ' ')}\n"))
        return found
