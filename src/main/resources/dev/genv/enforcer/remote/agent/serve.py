"""The requests, and their answers."""
FUNCTIONS = {"observe": observe, "signal": send_signals, "swapDevices": swap_devices}


def serve(seconds):
    """Answers requests until standard input ends, or until none comes for this time.

    Between them it keeps no file open and no directory busy, and holds no lock.
    """
    os.umask(0o077)
    os.chdir("/")
    # If it is ignored, as what starts the agent may do, the pid of a child can be another process's when it is killed.
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    received = b""
    while True:
        if not select.select([0], [], [], seconds)[0]:
            return
        part = os.read(0, PART)
        if not part:
            return
        received += part
        if part.endswith(b"\n"):  # the next request comes only after the answer
            content, _, checksum = received.rpartition(b" ")
            if checksum != b"%08x\n" % binascii.crc32(content):
                sys.exit("a request arrived damaged")
            received = b""
            if not respond(content):
                return


def respond(content):
    """Executes a request, which is JSON, prints the answer, and returns whether the agent is still in order."""
    request = json.loads(os.fsdecode(content))  # with texts as Python has the names of files, whatever the locale is
    nonce = request["nonce"].encode()
    # The output of the login before this one may have no end.
    write(1, b"\n@%s received\n" % nonce)
    try:
        answer = FUNCTIONS[request["do"]](Machine(request))
    except Bug as error:
        answer = {"failed": "the agent failed: %s" % error}
    except Exception as error:
        answer = {"failed": "the agent failed: %s" % where(error)}
    content = to_json(answer).encode()
    if len(content) > LARGEST_ANSWER and "facts" in answer:
        shorten(answer["facts"])
        content = to_json(answer).encode()
    # A checksum is enough to detect what a login loses or inserts, and hashlib would take longer to import.
    write(1, b"@%s %s %08x\n" % (nonce, content, binascii.crc32(content)))
    count_hanging()  # those that have exited would stay as zombies until the next request
    return "failed" not in answer
