# SPDX-License-Identifier: Apache-2.0
"""Mistakes written into a good config_db.json: told at the line that is wrong, and nothing beside them."""
import json
import unittest

from mistakes import Mistakes

PORTS = [f"Ethernet{4 * i}" for i in range(8)]
UPLINKS = PORTS[6:]
ONE = UPLINKS[0]


def leaf():
    cable = {port: "40m" if port in UPLINKS else "5m" for port in PORTS}
    to_class = {str(dscp): "0" for dscp in range(64)} | {"24": "3", "26": "3", "48": "6"}
    each = {str(i): str(i) for i in range(8)}
    curve = {f"{colour}_{what}": value for colour in ("green", "yellow", "red")
             for what, value in (("min_threshold", "250000"), ("max_threshold", "1000000"), ("drop_probability", "5"))}
    lossless = {"pool": "ingress_lossless_pool", "size": "1248", "xon": "18432", "dynamic_th": "1", "xon_offset": "20000"}
    maps = {"dscp_to_tc_map": "M", "tc_to_queue_map": "M", "tc_to_pg_map": "M", "pfc_to_queue_map": "M",
            "pfc_enable": "3", "pfcwd_sw_enable": "3"}
    queues = {"0": {"scheduler": "best"}, "3": {"scheduler": "rdma", "wred_profile": "MARK"}, "6": {"scheduler": "first"}}
    groups = {"0": "ingress_lossy_profile", "3": "pg_lossless_100000_{}_profile"}
    leaving = {"0": "egress_lossy_profile", "3": "egress_lossless_profile", "6": "egress_lossy_profile"}
    return json.loads(json.dumps({
        "DEVICE_METADATA": {"localhost": {"hostname": "leaf1", "hwsku": "unit"}},
        "PORT": {port: {"admin_status": "up", "mtu": "9100", "speed": "100000", "fec": "rs"} for port in PORTS},
        "CABLE_LENGTH": {"ALL": cable},
        "DSCP_TO_TC_MAP": {"M": to_class},
        "TC_TO_QUEUE_MAP": {"M": each},
        "TC_TO_PRIORITY_GROUP_MAP": {"M": dict.fromkeys(each, "0") | {"3": "3", "4": "4"}},
        "MAP_PFC_PRIORITY_TO_QUEUE": {"M": each},
        "PORT_QOS_MAP": {port: maps for port in PORTS},
        "SCHEDULER": {"best": {"type": "DWRR", "weight": "40"}, "rdma": {"type": "DWRR", "weight": "60"},
                      "first": {"type": "STRICT"}},
        "WRED_PROFILE": {"MARK": {"ecn": "ecn_all", "wred_green_enable": "true", "wred_yellow_enable": "true",
                                  "wred_red_enable": "true"} | curve},
        "QUEUE": {f"{port}|{queue}": row for port in PORTS for queue, row in queues.items()},
        "BUFFER_POOL": {"ingress_lossless_pool": {"type": "ingress", "mode": "dynamic", "size": "26284032", "xoff": "6291456"},
                        "egress_lossless_pool": {"type": "egress", "mode": "static", "size": "32575488"},
                        "egress_lossy_pool": {"type": "egress", "mode": "dynamic", "size": "26284032"}},
        "BUFFER_PROFILE": {"ingress_lossy_profile": {"pool": "ingress_lossless_pool", "size": "0", "static_th": "32575488"},
                           "pg_lossless_100000_5m_profile": lossless | {"xoff": "92160"},
                           "pg_lossless_100000_40m_profile": lossless | {"xoff": "177632"},
                           "egress_lossless_profile": {"pool": "egress_lossless_pool", "size": "0", "static_th": "32575488"},
                           "egress_lossy_profile": {"pool": "egress_lossy_pool", "size": "1518", "dynamic_th": "3"}},
        "BUFFER_PG": {f"{port}|{group}": {"profile": name.format(cable[port])}
                      for port in PORTS for group, name in groups.items()},
        "BUFFER_QUEUE": {f"{port}|{queue}": {"profile": name} for port in PORTS for queue, name in leaving.items()},
        "PFC_WD": {"GLOBAL": {"POLL_INTERVAL": "200"}} |
                  {port: {"action": "drop", "detection_time": "200", "restoration_time": "400"} for port in PORTS},
    }))


def written(tables):
    """The text, and the line of each table, row and field."""
    lines, at, out = {}, [0], []

    def put(text):
        out.append(text)
        at[0] += 1

    put("{")
    for i, (table, rows) in enumerate(tables.items()):
        put(f"  {json.dumps(table)}: {{")
        lines[table,] = at[0]
        for j, (key, fields) in enumerate(rows.items()):
            put(f"    {json.dumps(key)}: {{")
            lines[table, key] = at[0]
            for k, (name, value) in enumerate(fields.items()):
                put(f"      {json.dumps(name)}: {json.dumps(value)}{',' if k + 1 < len(fields) else ''}")
                lines[table, key, name] = at[0]
            put("    }" + ("," if j + 1 < len(rows) else ""))
        put("  }" + ("," if i + 1 < len(tables) else ""))
    put("}")
    return "\n".join(out) + "\n", lines


class Sonic(Mistakes):
    def mistake(self, change, *wanted, beside=()):
        """`wanted`: (rule, table, key, field), as deep as the line is."""
        before, after = leaf(), leaf()
        change(after)
        text, lines = written(after)
        answer = self.checked(leaf1=text)
        at = [(rule, "leaf1", lines[tuple(path)]) for rule, *path in wanted]
        # lines moved with the mistake: what was said of the good text counts by its rule and message
        good = {(item["rule"], item["message"]) for item in self.checked(leaf1=written(before)[0])["findings"]}
        answer["findings"] = [item for item in answer["findings"] if (item["rule"], item["message"]) not in good]
        self.told({"findings": []}, answer, at, beside)
        return answer

    def test_good(self):
        self.assertEqual([item for item in self.checked(leaf1=written(leaf())[0])["findings"]
                          if item["severity"] == "error"], [])

    def test_ports_that_are_shut(self):
        def unsaid(tables):
            for port in PORTS:
                del tables["PORT"][port]["admin_status"]
        def unused(tables):
            unsaid(tables)
            for table in ("PORT_QOS_MAP", "PFC_WD"):
                del tables[table][PORTS[2]]
            for table in ("QUEUE", "BUFFER_PG", "BUFFER_QUEUE"):
                for queue in "036":
                    tables[table].pop(f"{PORTS[2]}|{queue}", None)
            tables["PORT"][PORTS[2]]["mtu"] = "1500"
        self.mistake(unsaid)
        answer = self.mistake(unused, beside=("MAP002",))
        self.assertTrue(any("taken as down" in item["message"] for item in answer["assumed"]), answer["assumed"])

    def test_watchdog(self):
        def each(name, value, ports=PORTS):
            def change(tables):
                for port in ports:
                    if value:
                        tables["PFC_WD"][port][name] = value
                    else:
                        del tables["PFC_WD"][port][name]
            return change
        self.mistake(each("restoration_time", None), ("WD003", "PFC_WD", PORTS[0]))
        self.mistake(each("restoration_time", None, [ONE]), ("WD003", "PFC_WD", ONE))
        self.mistake(each("detection_time", None, [ONE]), ("WD001", "PFC_WD", ONE))
        self.mistake(each("detection_time", "800"), ("WD003", "PFC_WD", PORTS[0], "restoration_time"))
        self.mistake(each("detection_time", "800", [ONE]), ("WD003", "PFC_WD", ONE, "detection_time"))
        self.mistake(each("detection_time", "800", PORTS[:1]), ("WD003", "PFC_WD", PORTS[0], "detection_time"))
        self.mistake(each("detection_time", "50", [ONE]), ("WD002", "PFC_WD", ONE, "detection_time"))
        self.mistake(each("restoration_time", "90000"), ("WD002", "PFC_WD", PORTS[0], "restoration_time"))
        self.mistake(each("action", "alert"), ("WD005", "PFC_WD", PORTS[0], "action"))
        self.mistake(lambda tables: tables["PFC_WD"]["GLOBAL"].update(POLL_INTERVAL="400"),
                     ("WD002", "PFC_WD", "GLOBAL", "POLL_INTERVAL"))
        self.mistake(lambda tables: tables["PFC_WD"].pop(ONE), ("WD001", "PORT_QOS_MAP", ONE))

    def test_watchdog_of_one_priority(self):
        def two(watched, ports):
            def change(tables):
                tables["DSCP_TO_TC_MAP"]["M"]["4"] = "4"
                for port in PORTS:
                    tables["PORT_QOS_MAP"][port].update(pfc_enable="3,4", pfcwd_sw_enable="3,4")
                    for table in ("QUEUE", "BUFFER_PG", "BUFFER_QUEUE"):
                        tables[table][f"{port}|4"] = tables[table][f"{port}|3"]
                for port in ports:
                    tables["PORT_QOS_MAP"][port]["pfcwd_sw_enable"] = watched
            return change
        answer = self.mistake(two("3", [ONE]), ("WD004", "PORT_QOS_MAP", ONE, "pfcwd_sw_enable"), beside=("PFC003",))
        self.assertEqual({item["severity"] for item in answer["findings"] if item["rule"] == "WD004"}, {"warning"})
        self.mistake(two("4", PORTS), ("WD004", "PORT_QOS_MAP", PORTS[0], "pfcwd_sw_enable"), beside=("PFC003",))

    def test_maps(self):
        def to(table, entry, value):
            return lambda tables: tables[table]["M"].update({entry: value})
        def own(tables):
            tables["DSCP_TO_TC_MAP"]["OTHER"] = tables["DSCP_TO_TC_MAP"]["M"] | {"26": "0"}
            tables["PORT_QOS_MAP"][ONE]["dscp_to_tc_map"] = "OTHER"
        self.mistake(to("DSCP_TO_TC_MAP", "26", "4"), ("MAP001", "DSCP_TO_TC_MAP", "M", "26"), beside=("ECN001", "PFC003"))
        self.mistake(own, ("MAP001", "DSCP_TO_TC_MAP", "OTHER", "26"))
        self.mistake(to("TC_TO_PRIORITY_GROUP_MAP", "3", "0"), ("HR007", "TC_TO_PRIORITY_GROUP_MAP", "M", "3"))
        self.mistake(to("TC_TO_QUEUE_MAP", "3", "1"), ("MAP001", "TC_TO_QUEUE_MAP", "M", "3"))
        self.mistake(to("MAP_PFC_PRIORITY_TO_QUEUE", "3", "4"), ("PFC007", "MAP_PFC_PRIORITY_TO_QUEUE", "M", "3"))
        self.mistake(to("DSCP_TO_TC_MAP", "48", "0"), ("MAP006", "DSCP_TO_TC_MAP", "M", "48"),
                     beside=("MAP005", "MAP008"))

    def test_pfc(self):
        def enabled(value):
            def change(tables):
                if value is None:
                    del tables["PORT_QOS_MAP"][ONE]["pfc_enable"]
                else:
                    tables["PORT_QOS_MAP"][ONE]["pfc_enable"] = value
            return change
        beside = ("PFC001", "PFC002", "PFC008", "WD004")
        self.mistake(enabled("4"), ("PFC010", "PORT_QOS_MAP", ONE, "pfc_enable"))
        self.mistake(enabled(""), ("HR007", "PORT_QOS_MAP", ONE, "pfc_enable"), beside=beside)
        self.mistake(enabled(None), ("HR007", "PORT_QOS_MAP", ONE), beside=beside)
        self.mistake(lambda tables: tables["PORT_QOS_MAP"].pop(ONE), ("HR007", "PORT", ONE),
                     beside=beside)

    def test_marking(self):
        def wred(**fields):
            return lambda tables: tables["WRED_PROFILE"]["MARK"].update(fields)
        def unmarked(tables):
            del tables["QUEUE"][f"{ONE}|3"]["wred_profile"]
        def elsewhere(tables):
            tables["QUEUE"][f"{ONE}|4"] = tables["QUEUE"].pop(f"{ONE}|3")
        self.mistake(wred(ecn="ecn_none"), ("ECN006", "WRED_PROFILE", "MARK", "ecn"))
        self.mistake(wred(green_min_threshold="2000000"), ("ECN002", "WRED_PROFILE", "MARK", "green_min_threshold"),
                     beside=("ECN001", "ECN004"))
        self.mistake(wred(yellow_min_threshold="900000"), ("ECN004", "WRED_PROFILE", "MARK", "yellow_min_threshold"))
        # packets are green until something colours them: of no harm
        answer = self.mistake(wred(red_drop_probability="100"), ("ECN004", "WRED_PROFILE", "MARK", "red_drop_probability"))
        self.assertEqual([item["severity"] for item in answer["findings"]], ["info"])
        self.mistake(unmarked, ("ECN001", "QUEUE", f"{ONE}|3"))
        def unmarked_beside_a_wrong_curve(tables):
            unmarked(tables)
            wred(green_min_threshold="2000000")(tables)
        self.mistake(unmarked_beside_a_wrong_curve, ("ECN001", "QUEUE", f"{ONE}|3"), ("ECN002", "WRED_PROFILE", "MARK", "green_min_threshold"),
                     beside=("ECN004",))
        self.mistake(elsewhere, ("ECN001", "QUEUE", f"{ONE}|4"))
        self.mistake(lambda tables: tables["QUEUE"].pop(f"{ONE}|3"), ("ECN001", "QUEUE", f"{ONE}|0"))

    def test_marking_beside(self):
        """RDMA in priority 4 by all but the queue that marks: that is the odd one."""
        def four(tables):
            tables["DSCP_TO_TC_MAP"]["M"].update({"24": "0", "26": "0", "34": "4"})
            for port in PORTS:
                tables["PORT_QOS_MAP"][port].update(pfc_enable="4", pfcwd_sw_enable="4")
                for table in ("QUEUE", "BUFFER_PG", "BUFFER_QUEUE"):
                    tables[table][f"{port}|4"] = tables[table].pop(f"{port}|3")
        def beside(tables):
            four(tables)
            for port in PORTS:
                del tables["QUEUE"][f"{port}|4"]["wred_profile"]
                tables["QUEUE"][f"{port}|3"] = {"scheduler": "best", "wred_profile": "MARK"}
        self.mistake(four)
        self.mistake(beside, ("ECN001", "QUEUE", f"{PORTS[0]}|4"))

    def test_hash(self):
        def hashed(*fields):
            return lambda tables: tables.update(SWITCH_HASH={"GLOBAL": {"ecmp_hash": list(fields)}}, LLDP={"GLOBAL": {"enabled": "true"}})
        answer = self.mistake(hashed("DST_IP", "SRC_IP", "L4_SRC_PORT"))
        self.assertEqual(answer["not_understood"], [])
        self.mistake(hashed("DST_IP", "SRC_IP", "L4_DST_PORT"), ("TOP004", "SWITCH_HASH", "GLOBAL", "ecmp_hash"))

    def test_groups(self):
        def lossy(tables):
            tables["BUFFER_PG"][f"{ONE}|3"]["profile"] = "ingress_lossy_profile"
        def slower(tables):
            tables["BUFFER_PROFILE"]["pg_lossless_40000_40m_profile"] = tables["BUFFER_PROFILE"]["pg_lossless_100000_40m_profile"]
            tables["BUFFER_PG"][f"{ONE}|3"]["profile"] = "pg_lossless_40000_40m_profile"
        def shorter(tables):
            tables["BUFFER_PG"][f"{ONE}|3"]["profile"] = "pg_lossless_100000_5m_profile"
        def limited(ports):
            def change(tables):
                for port in ports:
                    tables["BUFFER_QUEUE"][f"{port}|3"]["profile"] = "egress_lossy_profile"
            return change
        def moved(tables):
            tables["BUFFER_PG"][f"{ONE}|4"] = tables["BUFFER_PG"].pop(f"{ONE}|3")
        self.mistake(lossy, ("HR007", "BUFFER_PG", f"{ONE}|3", "profile"), beside=("HR004",))
        self.mistake(slower, ("HR001", "BUFFER_PG", f"{ONE}|3", "profile"), beside=("HR004",))
        self.mistake(shorter, ("HR002", "BUFFER_PG", f"{ONE}|3", "profile"), beside=("HR001", "HR004"))
        self.mistake(limited([ONE]), ("BUF002", "BUFFER_QUEUE", f"{ONE}|3", "profile"))
        self.mistake(limited(PORTS), ("BUF002", "BUFFER_QUEUE", f"{PORTS[0]}|3", "profile"))
        def without(*ports):
            return lambda tables: [tables["BUFFER_PG"].pop(f"{port}|3") for port in ports]
        self.mistake(without(ONE), ("SIB001", "PORT_QOS_MAP", ONE, "pfc_enable"), beside=("HR004",))
        self.mistake(without(*PORTS))  # the switch makes them all
        self.mistake(moved, ("HR007", "BUFFER_PG", f"{ONE}|4"), beside=("HR004", "ECN001", "PFC003"))

    def test_pool(self):
        """Headroom beside the pool, and within it where both together are more than all that leaves."""
        def within(tables):
            tables["BUFFER_POOL"]["ingress_lossless_pool"].update(size="32575488", xoff="6291456")
        def large(tables):
            tables["DEVICE_METADATA"]["localhost"]["hwsku"] = "ACS-MSN2700"
            tables["BUFFER_POOL"]["ingress_lossless_pool"]["size"] = "90000000"
        self.mistake(within)
        self.mistake(large, ("HR003", "BUFFER_POOL", "ingress_lossless_pool", "size"), beside=("ECN003", "BUF001"))

    def test_chassis(self):
        """Rows of queues keyed by host and chip are read; those of other cards are left out, and none is judged by them."""
        def keyed(tables):
            for table in ("QUEUE", "BUFFER_QUEUE"):
                rows = tables[table]
                tables[table] = {f"leaf1|asic0|{key}": row for key, row in rows.items()}
                tables[table] |= {f"leaf2|asic0|{key}": {} for key in rows}
        def unmarked(tables):
            keyed(tables)
            del tables["QUEUE"][f"leaf1|asic0|{ONE}|3"]["wred_profile"]
        answer = self.mistake(keyed)
        self.assertEqual([item["message"] for item in answer["not_understood"]],
                         ["48 rows of other cards of a chassis are not read"])
        self.mistake(unmarked, ("ECN001", "QUEUE", f"leaf1|asic0|{ONE}|3"))

    def part(self, *tables):
        return {table: leaf()[table] for table in tables}

    def test_fragments(self):
        """Nothing is found out of tables that are not there, and what rests on them is listed."""
        maps = ("DSCP_TO_TC_MAP", "TC_TO_QUEUE_MAP", "TC_TO_PRIORITY_GROUP_MAP", "MAP_PFC_PRIORITY_TO_QUEUE", "PORT_QOS_MAP",
                "SCHEDULER", "WRED_PROFILE", "QUEUE")
        for tables, unjudged in ((maps, "WD"), (("BUFFER_POOL", "BUFFER_PROFILE", "BUFFER_PG", "BUFFER_QUEUE"), "PFC"),
                                 (("PORT_QOS_MAP",), "MAP"), (("PORT_QOS_MAP",), "MAP007"), (("WRED_PROFILE", "QUEUE"), "MAP007")):
            with self.subTest(tables):
                answer = self.checked(leaf1=written(self.part(*tables))[0])
                self.assertEqual(answer["findings"], [])
                self.assertIn(unjudged, [item["rule"] for item in answer["unjudged"]])
        wrong = self.part(*maps)
        wrong["TC_TO_QUEUE_MAP"]["M"]["3"] = "1"
        text, lines = written(wrong)
        self.assertIn(("MAP001", "leaf1", lines["TC_TO_QUEUE_MAP", "M", "3"]), self.said(self.checked(leaf1=text)))

    def test_patch(self):
        """`config apply-patch`: rows and fields of one row; what it takes away is told, and the rest is not judged."""
        curve = leaf()["WRED_PROFILE"]["MARK"]
        def patched(marking):
            return [{"op": "replace", "path": f"/QUEUE/{ONE}|3/scheduler", "value": "rdma"},
                    {"op": "replace", "path": f"/QUEUE/{ONE}|3/wred_profile", "value": "MARK"},
                    {"op": "add", "path": "/WRED_PROFILE/MARK", "value": marking},
                    {"op": "add", "path": f"/PORT_QOS_MAP/{ONE}", "value": leaf()["PORT_QOS_MAP"][ONE]},
                    {"op": "add", "path": f"/PFC_WD/{ONE}", "value": {"detection_time": "200", "action": "drop"}},
                    {"op": "remove", "path": f"/BUFFER_PG/{ONE}|4"}]
        def shown(marking):
            return "[\n" + ",\n".join(json.dumps(each) for each in patched(marking)) + "\n]\n"
        answer = self.checked(leaf1=shown(curve))
        self.assertEqual(self.said(answer), {("WD003", "leaf1", 6)})
        self.assertEqual([item["line"] for item in answer["not_understood"]], [7])
        wrong = self.checked(leaf1=shown(curve | {"green_min_threshold": "9000000"}))
        self.assertEqual(self.said(wrong) - self.said(answer), {("ECN002", "leaf1", 4)})

    def test_maps_left_out(self):
        def without(name):
            return lambda tables: tables["PORT_QOS_MAP"][ONE].pop(name)
        self.mistake(without("tc_to_pg_map"), ("MAP001", "PORT_QOS_MAP", ONE))
        self.mistake(without("tc_to_queue_map"), ("MAP001", "PORT_QOS_MAP", ONE))
        self.mistake(without("dscp_to_tc_map"), ("MAP001", "PORT_QOS_MAP", ONE), beside=("MAP002", "PFC008", "MAP006"))


if __name__ == "__main__":
    unittest.main()
