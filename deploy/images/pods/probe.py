"""Asks gRPC's health service, in the few bytes of HTTP/2 that this takes."""

import socket
import struct

DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY = 0, 1, 3, 4, 6, 7
END_STREAM, ACK, END_HEADERS = 1, 1, 4
STATUS = {0: 'UNKNOWN', 1: 'SERVING', 2: 'NOT_SERVING'}


def Frame(kind, flags, stream, payload=b''):
  return struct.pack('>I', len(payload))[1:] + struct.pack(
      '>BBI', kind, flags, stream) + payload


def Text(text):
  return bytes([len(text)]) + text.encode()


def Request(host, service):
  # HPACK: names and values of the static table by number, others as they are.
  headers = (b'\x83\x86' + b'\x04' + Text('/grpc.health.v1.Health/Check') +
             b'\x01' + Text(host) + b'\x0f\x10' + Text('application/grpc') +
             b'\x00' + Text('te') + Text('trailers'))
  message = b'\x0a' + Text(service)
  return (b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n' + Frame(SETTINGS, 0, 0) +
          Frame(HEADERS, END_HEADERS, 1, headers) +
          Frame(DATA, END_STREAM, 1,
                struct.pack('>BI', 0, len(message)) + message))


def Answer(stream, write):
  """The bytes of the answering message, without its length."""
  answer = b''
  while True:
    head = stream.read(9)
    if len(head) < 9:
      return answer[5:]
    length = int.from_bytes(head[:3], 'big')
    kind, flags = head[3], head[4]
    payload = stream.read(length)
    if kind == DATA:
      answer += payload
    if kind in (SETTINGS, PING) and not flags & ACK:
      write(Frame(kind, ACK, 0, payload if kind == PING else b''))
    if kind in (RST_STREAM, GOAWAY) or (
        kind in (DATA, HEADERS) and flags & END_STREAM):
      return answer[5:]


def Health(host, port, service):
  """"SERVING" or "NOT_SERVING"; None if nobody answers or knows the service."""
  try:
    with socket.create_connection((host, port), timeout=5) as connection:
      connection.sendall(Request(host, service))
      message = Answer(connection.makefile('rb'), connection.sendall)
  except OSError:
    return None
  # One field: the status.
  return STATUS.get(message[1]) if message[:1] == b'\x08' else None
