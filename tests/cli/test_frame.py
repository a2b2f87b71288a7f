# SPDX-License-Identifier: Apache-2.0
"""The frame around the verbs: help, version, mistyped words, exit status, output that fails."""
import json
import os
import re
import subprocess
import unittest

from support import PCAPS, PROGRAM, Case, environment, rocelab, verbs


class Frame(Case):
    def test_version(self):
        for arguments in (["--version"], ["-V"], ["version"]):
            result = rocelab(*arguments)
            self.assertEqual(result.returncode, 0)
            self.assertRegex(result.stdout, r"^rocelab \d+\.\d+\.\d+\n$")
        self.assertRegex(rocelab("version", "--quiet").stdout, r"^\d+\.\d+\.\d+\n$")
        document = json.loads(rocelab("version", "--json").stdout)
        self.assertEqual((document["version"], document["kind"]), (1, "version"))
        self.assertEqual("rocelab " + document["rocelab"] + "\n", rocelab("version").stdout)

    def test_what_follows_is_not_ignored(self):
        self.assertEqual(rocelab("--version", "--json").stdout, rocelab("version", "--json").stdout)
        self.wrong(rocelab("--version", "junk"), "version: takes no operands")
        self.assertEqual(rocelab("--help", "sim").stdout, rocelab("help", "sim").stdout)
        self.wrong(rocelab("--help", "smi"), "did you mean 'sim'?")

    def test_help_lists_the_verbs(self):
        texts = {rocelab(*arguments).stdout for arguments in (["help"], ["--help"], ["-h"])}
        self.assertEqual(len(texts), 1)
        text = texts.pop()
        document = json.loads(rocelab("help", "--json").stdout)
        self.assertEqual((document["version"], document["kind"]), (1, "help"))
        self.assertEqual([verb["name"] for verb in document["verbs"]], verbs())
        for verb in document["verbs"]:
            self.assertRegex(text, rf"(?m)^  {verb['name']} +{re.escape(verb['help'])}$")

    def test_import_has_a_document(self):
        matrix = b"Nodes 16\nConnections 2\n0->15 id 1 start 0 size 2000\n3->4 size 5 prio 1\ntrigger id 1\n"
        path = self.file("matrix.cm", matrix)
        text = rocelab("import", "--from", "htsim", path).stdout
        document = json.loads(rocelab("import", "--json", "--from", "htsim", path).stdout)
        self.assertEqual((document["version"], document["kind"], document["from"]), (1, "import", "htsim"))
        self.assertEqual(document["fabric"], text)
        self.assertEqual(document["notes"], ["line 4: prio is not carried over", "line 5: trigger is not carried over"])
        self.assertIn("--json and --strict do nothing here", rocelab("help", "run").stdout)

    def test_help_of_a_verb(self):
        for verb in verbs():
            texts = {rocelab(*arguments).stdout for arguments in (["help", verb], [verb, "--help"], [verb, "-h"])}
            self.assertEqual(len(texts), 1, verb)
            self.assertTrue(texts.pop().startswith(f"Usage: rocelab {verb} [OPTIONS]"))

    def test_help_states_the_memory_bound(self):
        self.assertRegex(rocelab("help", "capture").stdout, r"Memory: at most \d[\d.]*[MG]B with the default of \d+ ")

    def test_no_line_is_too_wide(self):
        for verb in verbs():
            for width in (60, 100):
                text = rocelab("help", verb, env=environment(COLUMNS=str(width))).stdout
                options = text[text.index("Options:"):].partition("Examples:")[0]
                self.assertLessEqual(max(map(len, options.splitlines())), width, verb)

    def test_unknown_verb(self):
        result = rocelab("captrue")
        self.wrong(result)
        self.assertEqual(result.stderr, "rocelab: unknown verb 'captrue': did you mean 'capture'?\n")
        self.wrong(rocelab("cap"), "did you mean 'capture'?")
        self.wrong(rocelab("zzz"), "unknown verb 'zzz'; 'rocelab help' lists them")
        self.wrong(rocelab("help", "vresion"), "did you mean 'version'?")
        alone = rocelab()
        self.assertEqual((alone.returncode, alone.stdout, alone.stderr), (2, "", rocelab("help").stdout))
        self.wrong(rocelab("--jsno"), "the verb comes first")

    def test_unknown_option(self):
        self.wrong(rocelab("capture", "--conections", "3", "x"), "'--conections': did you mean '--connections'?")
        self.wrong(rocelab("capture", "--zzz=1", "x"), "unknown option '--zzz'; see 'rocelab help capture'")
        self.wrong(rocelab("capture", "-x", "x"), "unknown option '-x'")
        self.wrong(rocelab("capture", "--json=1", "x"), "'--json' takes no value")
        self.wrong(rocelab("capture", "--bin"), "'--bin' needs a value (TIME)")
        self.wrong(rocelab("version", "--jsn"), "did you mean '--json'?")

    def test_operands(self):
        self.wrong(rocelab("capture"), "which file?")
        self.wrong(rocelab("version", "x"), "takes no operands")
        self.wrong(rocelab("help", "capture", "help"), "one verb at a time")

    def test_units(self):
        for option, bad in (("bin", "10"), ("bin", "3parsec"), ("bin", "0"), ("bin", "1ps"), ("rate", "400"),
                            ("rate", "-1G"), ("rate", "0"), ("interval", "1"), ("interval", "1m"),
                            ("connections", "many"), ("connections", "-1"), ("connections", "5000000000"),
                            ("details", "x"), ("max-connections", "0"), ("max-connections", "1.5")):
            self.wrong(rocelab("capture", f"--{option}", bad, "rc_send.pcap"), f"--{option} '{bad}': ")
        for option, good in (("bin", "10us"), ("rate", "400G"), ("rate", "25.78125G"), ("interval", "0"),
                             ("connections", "0"), ("details", "1K"), ("max-connections", "16")):
            result = rocelab("capture", f"--{option}", good, "rc_send.pcap")
            self.assertEqual((result.returncode, result.stderr), (0, ""), option)

    def test_control_characters_are_not_echoed(self):
        result = rocelab("capture", "\x1b[31mred\n\xff")
        self.wrong(result, "?[31mred?")
        self.assertNotIn("\x1b", result.stderr)


class Output(Case):
    def test_full_disk(self):
        for arguments in (["help"], ["capture", "rc_send.pcap"], ["capture", "--json", "loss_send.pcap"]):
            with open("/dev/full", "wb") as full:
                self.wrong(rocelab(*arguments, stdout=full), "standard output: No space left on device")

    def test_closed_pipe_is_quiet(self):
        for arguments in (["help"], ["capture", "rc_send.pcap"], ["capture", "--json", *["loss_send.pcap"] * 200]):
            reader, writer = os.pipe()
            os.close(reader)
            result = rocelab(*arguments, stdout=writer)
            os.close(writer)
            self.assertEqual((result.returncode, result.stderr), (2, ""))

    def on_a_terminal(self, **env):
        try:
            main, terminal = os.openpty()
        except OSError as error:
            self.skipTest(f"no pseudo-terminal to be had here: {error}")
        with subprocess.Popen([PROGRAM, "capture", "--quiet", "loss_send.pcap"], cwd=PCAPS, stdout=terminal,
                              stdin=subprocess.DEVNULL, env=environment(TERM="xterm", **env)) as process:
            os.close(terminal)
            text = b""
            while True:
                try:
                    piece = os.read(main, 4096)
                except OSError:  # EIO: the other end is closed
                    break
                if not piece:
                    break
                text += piece
            process.wait()
        os.close(main)
        return text

    def test_colour_only_on_a_terminal(self):
        self.assertIn(b"\x1b[", self.on_a_terminal())
        self.assertNotIn(b"\x1b", self.on_a_terminal(NO_COLOR="1"))
        self.assertNotIn("\x1b", rocelab("capture", "loss_send.pcap").stdout)

    def test_bars_follow_the_locale(self):
        self.assertFalse(rocelab("capture", "loss_send.pcap").stdout.isascii())
        self.assertTrue(rocelab("capture", "loss_send.pcap", env=environment(LC_ALL="C")).stdout.isascii())


if __name__ == "__main__":
    unittest.main()
