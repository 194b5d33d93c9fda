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
    found = lookups(machine, asked, passwd_line, 0.4)
    unread = [each for each in found if each.get("failure", "ABSENT") != "ABSENT"]
    lines = {"value": b"".join(each.get("value", b"") for each in found)}
    return {"asked": asked, "named": unread[0] if unread else lines if asked else failed("SKIPPED")}


def passwd_line(key):
    """Returns the line as in passwd(5) of an account with this name or uid. Raises KeyError."""
    found = pwd.getpwuid(int(key)) if key.isdigit() else pwd.getpwnam(key)
    return b"%s:x:%d:\n" % (os.fsencode(found.pw_name), found.pw_uid)


def uid_of(user):
    """Returns the uid of the account of that name, or else of the number. Raises KeyError."""
    try:
        return pwd.getpwnam(user).pw_uid
    except KeyError:
        if not user.isdigit():
            raise
        return pwd.getpwuid(int(user)).pw_uid


def number_of(group):
    return grp.getgrnam(group).gr_gid


def groups_of(user):
    """Returns the numbers of all groups of a user. Raises KeyError."""
    return os.getgrouplist(user, pwd.getpwnam(user).pw_gid)


def find_all(names, find):
    """Yields a Reading for each name, in time for what is known. A child process executes it."""
    for name in names:
        try:
            yield {name: {"value": find(name)}}
        except KeyError:
            yield {name: failed("ABSENT")}
        yield MAY_HANG


def lookups(machine, names, find, spare):
    """Returns a Reading of what a function finds for each name, and that does not exist if it raises KeyError. spare: of the budget."""
    known, why, seconds = {}, None, machine.limit(machine.request["budget"] / 20, spare)
    try:
        if names:
            call(execute(find_all, names, find, stays=False), seconds, known)  # a name service may keep files open
    except NoAnswer:
        why = failed("TIMEOUT", "there was no answer within %d ms" % (seconds * 1000))
    except (Bug, OSError) as error:
        why = failed("OTHER", str(error))
    return [known.get(name, why) for name in names]


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
