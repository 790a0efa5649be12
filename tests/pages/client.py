"""`firth` on the PATH of the pages' shells: hands its arguments and streams to the server. It imports little."""

import json
import os
import socket
import sys

connection = socket.socket(socket.AF_UNIX)
connection.connect(os.environ["FIRTH_PAGES_SERVER"])
request = {"arguments": sys.argv[1:], "folder": os.getcwd(), "environment": dict(os.environ)}  # noqa: PTH109
message = json.dumps(request).encode() + b"\n"
sent = socket.send_fds(connection, [message], [0, 1, 2])
connection.sendall(message[sent:])
code = connection.recv(1)
sys.exit(code[0] if code else 70)  # no answer: the command died
