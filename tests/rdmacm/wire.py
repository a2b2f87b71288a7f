# SPDX-License-Identifier: Apache-2.0
"""CM messages by hand: RoCE v2 datagrams to queue pair 1, and a peer that speaks no more than it is told to.

Only what the tests need: IPv4, no options, the fields of REQ, REP, RTU, REJ, DREQ, DREP that they look at.
"""
import socket
import struct
import zlib

PORT = 4791
QKEY_CM = 0x80010000
UD_SEND_ONLY = 0x64
MAD_BYTES = 256
REQ, MRA, REJ, REP, RTU, DREQ, DREP = range(0x10, 0x17)


def crc(source, target, sport, dport, transport):
    """The invariant CRC: what routers change counts as ones (InfiniBand annex A17)."""
    length = 8 + len(transport) + 4
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0xff, 20 + length, 0, 0x4000, 0xff, 17, 0xffff, socket.inet_aton(source),
                     socket.inet_aton(target))
    udp = struct.pack(">HHHH", sport, dport, length, 0xffff)
    masked = transport[:4] + b"\xff" + transport[5:]
    return struct.pack("<I", zlib.crc32(b"\xff" * 8 + ip + udp + masked))


def message(attribute, tid, body):
    head = struct.pack(">BBBBHHQHHI", 1, 7, 2, 3, 0, 0, tid, attribute, 0, 0)
    return (head + body).ljust(MAD_BYTES, b"\0")


def request(service_id, local_id, qpn, source, target, tid=1, mtu=3):
    """A REQ of RDMA-CM (annex A11)."""
    def gid(address):
        return b"\0" * 10 + b"\xff\xff" + socket.inet_aton(address)

    fixed = struct.pack(">IIQQIIIIIIHBB", local_id, 0, service_id, 7, 0, 0, qpn << 8 | 1, 1, 20 << 3,
                        1000 << 8 | 20 << 3 | 7, 0xffff, mtu << 4 | 7, 15 << 4)
    path = struct.pack(">HH16s16sIBBBB", 0xffff, 0xffff, gid(source), gid(target), 16, 0, 64, 0, 17 << 3)
    header = struct.pack(">BBH12s4s12s4s", 0, 0x40, 4000, b"", socket.inet_aton(source), b"", socket.inet_aton(target))
    return message(REQ, tid, fixed + path + b"\0" * 44 + header)


def short(attribute, local_id, remote_id, qpn=0, tid=1):
    return message(attribute, tid, struct.pack(">III", local_id, remote_id, qpn << 8))


class Sender:
    """Sends messages as whoever has the address; hears answers where it holds the port too."""

    def __init__(self, source, target, answers=False):
        self.source, self.target, self.psn = source, target, 0
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.setsockopt(socket.IPPROTO_IP, 10, 2)  # IP_MTU_DISCOVER, IP_PMTUDISC_DO: the identification is 0
        self.socket.bind((source, PORT if answers else 0))
        self.port = self.socket.getsockname()[1]

    def send(self, mad):
        bth = struct.pack(">BBHII", UD_SEND_ONLY, 0x40, 0xffff, 1, self.psn & 0xffffff)
        self.psn += 1
        transport = bth + struct.pack(">II", QKEY_CM, 1) + mad
        datagram = transport + crc(self.source, self.target, self.port, PORT, transport)
        self.socket.sendto(datagram, (self.target, PORT))

    def hear(self, seconds):
        """(attribute, tid, the body) of the next message; None: none came."""
        self.socket.settimeout(seconds)
        try:
            data = self.socket.recv(2048)[20:20 + MAD_BYTES]
        except TimeoutError:
            return None
        return struct.unpack(">H", data[16:18])[0], struct.unpack(">Q", data[8:16])[0], data[24:]

    def close(self):
        self.socket.close()
