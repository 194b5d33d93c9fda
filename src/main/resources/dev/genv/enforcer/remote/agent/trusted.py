"""Files that users must not be able to replace, files of /etc, and accounts."""
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
LARGEST_ACCOUNTS = 2 << 20


def follow(path, owners):
    """Resolves links like the kernel, and returns the path of the file.

    Raises Untrusted if other users than the owners can replace the file or a step of the path.
    """
    def require_trusted(step, kind):
        status = os.lstat(step)
        if status.st_uid not in owners:
            raise Untrusted("%s belongs to user %d" % (step, status.st_uid))
        # In a sticky directory users cannot replace files of others. In the file's own directory they could add files.
        if kind != "link" and status.st_mode & 0o22 and not (kind == "above" and status.st_mode & stat.S_ISVTX):
            raise Untrusted("others can write " + step)

    ahead, place, links = path.split("/")[::-1], "", 0
    while ahead:
        name = ahead.pop()
        if name in ("", ".", ".."):
            place = os.path.dirname(place).rstrip("/") if name == ".." else place
            continue
        require_trusted(place or "/", "above" if ahead else "folder")
        step = place + "/" + name
        if not os.path.islink(step):
            place = step
            continue
        require_trusted(step, "link")
        links += 1
        if links > 40:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        target = os.readlink(step)
        place = "" if target.startswith("/") else place
        ahead += target.split("/")[::-1]
    require_trusted(place, "file")
    return place


def program_file(path):
    """Returns a ProgramFile."""
    os.stat(path)  # first of all: a file that does not exist cannot be replaced
    return root_file(follow(path, {0}))


def text_file(path, known):
    """Returns a TextFile, without its content if the recipient has this version."""
    with open(path, "rb", 0, opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST_ACCOUNTS:
            raise OSError(errno.EINVAL, "it is not a file of at most %d bytes" % LARGEST_ACCOUNTS)
        version = ":".join(map(str, stamp(status)))
        return {"version": version, "content": None if version == known else file.read(LARGEST_ACCOUNTS)}


def account_facts(machine, passwd, processes):
    """Asks the name service for what the request names, and for uids of processes that nobody knows, in one call."""
    request, uids = machine.request, [each["uid"]["value"] for each in processes if "value" in each["uid"]]
    unknown = [str(uid) for uid in map(machine.owner_of, uids) if uid not in request["knownUids"]]
    if unknown:
        content = reading(text_file, passwd, None).get("value", {}).get("content", b"")
        known = {(line.split(b":") + [b""] * 3)[2] for line in content.split(b"\n")}
        unknown = [uid for uid in dict.fromkeys(unknown) if uid.encode() not in known]
    asked = list(dict.fromkeys(request["accounts"] + unknown[:request["moreAccounts"]]))
    seconds = machine.limit(request["budget"] / 20, 0.4)
    return {"asked": asked, "named": named_accounts(asked, seconds) if asked else failed("SKIPPED")}


def account(function, key):
    """Returns what a function of pwd finds; None if it finds nothing."""
    try:
        return function(key)
    except KeyError:
        return None


def named_accounts(asked, seconds):
    """Returns a Reading of lines as in passwd(5) for those of these names and uids that the name service finds."""
    def lines():
        import pwd
        found = [account(pwd.getpwuid, int(key)) if key.isdigit() else account(pwd.getpwnam, key) for key in asked]
        yield {"value": b"".join(b"%s:x:%d:\n" % (os.fsencode(each.pw_name), each.pw_uid) for each in found if each)}

    try:
        return call(Worker(task=[lines]), seconds)  # a name service may keep files open
    except NoAnswer:
        return failed("TIMEOUT", "there was no answer within %d ms" % (seconds * 1000))
    except (Bug, OSError) as error:
        return failed("OTHER", str(error))


def uid_of(user):
    """Returns the uid of the account of that name, or else of the number. Raises KeyError."""
    import pwd
    try:
        return pwd.getpwnam(user).pw_uid
    except KeyError:
        if not user.isdigit():
            raise
        return pwd.getpwuid(int(user)).pw_uid


def number_of(group):
    import grp
    return grp.getgrnam(group).gr_gid


def groups_of(user):
    """Returns the numbers of all groups of a user. Raises KeyError."""
    import pwd
    return os.getgrouplist(user, pwd.getpwnam(user).pw_gid)


def lookups(machine, names, find):
    """Returns a Reading of what a function finds for each of these names. It raises KeyError if that does not exist."""
    def find_all():
        for name in names:
            try:
                yield {name: {"value": find(name)}}
            except KeyError:
                yield {name: failed("ABSENT")}
            yield MAY_HANG

    if not names:
        return []
    known, rest, seconds = {}, failed("NO_TIME"), machine.limit(machine.request["budget"] / 20, 0.6)
    try:
        call(Worker(task=[find_all]), seconds, known)
    except NoAnswer:
        rest = failed("TIMEOUT", "there was no answer within %d ms" % (seconds * 1000))
    except (Bug, OSError) as error:
        rest = failed("OTHER", str(error))
    return [known.get(name, rest) for name in names]


def find_program(name):
    """Returns the path of a program that only root and the present user can replace. Raises OSError, Untrusted."""
    paths = [name] if "/" in name else [folder + "/" + name for folder in PATH.split(":")]
    path = next((each for each in paths if os.path.isfile(each) and os.access(each, os.X_OK)), None)
    if path is None:
        what = "%s is not a program" if "/" in name else "%s is not in any of " + PATH
        raise OSError(errno.ENOENT, what % text(name))
    try:
        follow(path, {0, os.geteuid()})
    except Untrusted as error:
        raise Untrusted("%s is not used: %s" % (path, error))
    return path
