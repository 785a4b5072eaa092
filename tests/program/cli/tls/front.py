"""Ends TLS and forwards the bytes, so that a server without TLS is reached over https.

    python3 front.py CERTIFICATE-AND-KEY HOST:PORT      # prints its own port
"""

import socket
import ssl
import sys
import threading


def copy(source, target):
    try:
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        pass  # the other side is gone


def serve(plain, context, behind):
    try:
        near = context.wrap_socket(plain, server_side=True)
        far = socket.create_connection(behind)
    except OSError:
        return  # a client that does not trust the certificate
    threading.Thread(target=copy, args=(near, far), daemon=True).start()
    copy(far, near)
    near.close()


def main():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[1])
    host, _, port = sys.argv[2].rpartition(":")
    with socket.create_server(("127.0.0.1", 0), backlog=128) as listener:
        print(listener.getsockname()[1], flush=True)
        while True:
            plain, _ = listener.accept()
            threading.Thread(target=serve, args=(plain, context, (host, int(port))), daemon=True).start()


if __name__ == "__main__":
    main()
