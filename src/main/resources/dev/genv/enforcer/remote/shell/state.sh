# shellcheck shell=sh
# Reads genv's state, in a directory where every user can do what he likes.

# Of each state file: both of them at their longest fit into the answer.
LARGEST=3145728

state() { # both files as they stood at one moment, and who is alive of whom they tell
  if user_mount; then
    say directory mounted "$server" "$kind" "$point"
    clock
    say read "$now"
    return
  fi
  if [ -w "$STATE" ]; then say writable yes; else say writable no; fi
  if ! [ -e "$STATE" ] && ! [ -L "$STATE" ]; then
    say directory absent
  elif ! enter; then
    say directory unusable "$why"
  else
    ours=''
    [ -z "$ACTS" ] || charge
    set -- "$directory"
    if [ -n "$ours" ] || { enter && [ "$directory" = "$1" ]; }; then
      say directory there "$directory" "$born"
      contents
    else
      say directory unusable 'is replaced while it is looked at'
    fi
  fi
  cd /
  clock
  say read "$now"
  [ -z "$ACTS" ] || lease
}

# Whoever serves a file system from a process of his own (FUSE) decides what is read in it and whether there is ever an
# answer: so it is found in a list of the kernel's before anything there is touched.
user_mount() { # whether a user mounted one over the state directory or in it; sets $server, $kind and $point
  [ -r "$PROC/self/mountinfo" ] || return
  above=$("$readlink" -f -- "${STATE%/*}/")
  while read -r _ _ _ _ point rest; do
    case "$point/" in "${above%/}/${STATE##*/}"/*) ;; *) continue ;; esac
    kind=${rest##* - } # before that there are the kernel's own words, and behind it no blanks but its own
    kind=${kind%% *}
    case $kind in fuse*) ;; *) continue ;; esac
    server=${rest##*user_id=}
    server=${server%%[!0-9]*}
    case $server in '' | 0 | "$uid") ;; *) return 0 ;; esac
  done <"$PROC/self/mountinfo"
  return 1
}

charge() { # whether we may act here; sets $ours if our own folder can be used, and goes there
  other_enforcer
  if own_folder; then
    ours=1
  else
    say folder unusable
  fi
}

other_enforcer() { # an enforcer on the machine itself holds a file of its own, that nobody else can open
  [ -f .genv-enforcer.lock ] && ! [ -L .genv-enforcer.lock ] || return 0
  # shellcheck disable=SC2046
  set -- $("$stat" -c '%u %a %h %i' .genv-enforcer.lock 2>/dev/null) "${directory#*:}"
  [ "${1-} ${2-} ${3-}" = "$uid 600 1" ] || return 0
  # It names its directory: one of another directory may have been moved here.
  text=$("$dd" if=.genv-enforcer.lock iflag=nofollow,nonblock bs=64 count=1 status=none 2>/dev/null)
  [ "$text" = "genv-enforcer of directory $5" ] || return 0
  holders "$4"
  for pid in $pids; do
    while read -r key first _; do
      # Nobody but us can hold it; whoever else seems to holds one of another file system.
      if [ "$key $first" = "Uid: $uid" ]; then
        say enforcer "$pid"
        return
      fi
    done <"$PROC/$pid/status"
  done 2>/dev/null
}

contents() { # in the directory, or in our folder in it
  if [ -n "$ours" ]; then files=..; else files=.; fi
  lock=unlocked pids=''
  if [ -n "$ours" ]; then
    allow "$LOCK_WAIT" 28
    under_lock sight
    say waited "$spent"
    if [ "$lock" = none ]; then
      # Nobody holds what is not there; if it came meanwhile, somebody may have been writing.
      sight
      ! [ -e ../genv.lock ] || lock=unlocked
    fi
  fi
  say lock "$lock"
  # shellcheck disable=SC2086
  blob holders $pids "$(told "$pids")"
  case $lock in held | none) ;; *) unlocked ;; esac
  changed
  [ -z "$ours" ] || leave_own
  blob envs "$envs" "$envs_content"
  blob devices "$devices" "$devices_content"
  case $envs in 'present '*) alive ;; esac
}

sight() { # sets $envs, $devices and their contents, which are too long to look for anything in them here
  regard envs.json
  envs=$seen envs_stamp=$stamp envs_content=$content
  regard devices.json
  devices=$seen devices_stamp=$stamp devices_content=$content
}

changed() { # after the files are read: when they or the directory were last changed, in hundredths since the machine's start
  last=0
  for changed in $("$stat" -c %Z "$files" "$files/envs.json" "$files/devices.json" 2>/dev/null); do
    [ "$changed" -le "$last" ] || last=$changed
  done
  today=$("$date" +%s)
  clock
  # Both times of day are cut to whole seconds: so it may come out up to two seconds late, and never early.
  say changed $((now - (today - last - 1) * 100))
}

stamp_of() { # NAME: what the kernel says of it
  "$stat" -c '%s %f %h %d:%i %y %z' "$files/$1" 2>/dev/null
}

regard() { # NAME: sets $seen to what stands there, $stamp and, in base64, $content
  stamp='' content=''
  if [ -L "$files/$1" ]; then
    seen='link'
  elif ! [ -e "$files/$1" ]; then
    seen=absent
  else
    stamp=$(stamp_of "$1")
    name=$1
    # shellcheck disable=SC2086
    set -- $stamp 0 0 0
    if [ $((0x$2 & 0170000)) -ne $((0100000)) ]; then
      seen=irregular
    elif [ "$3" -gt 1 ] && [ $((0x$2 & 04)) -eq 0 ]; then
      seen="closed $3"
    elif ! [ -r "$files/$name" ]; then
      seen=denied
    elif [ "$1" -gt $LARGEST ]; then
      seen="large $LARGEST"
    else
      content=$("$dd" if="$files/$name" iflag=nofollow,nonblock,fullblock bs=65536 count=$((LARGEST / 65536 + 1)) \
        status=none 2>/dev/null | "$base64" -w0)
      seen="present $1"
      [ "$stamp" = "$(stamp_of "$name")" ] || seen=changed content=
    fi
  fi
}

unlocked() { # whoever holds the lock for ever must not escape: what stands still for a while is believed
  clock
  patience=$((finish - BUDGET / 10))
  [ $patience -le $((now + 100)) ] || patience=$((now + 100))
  sight
  while :; do
    one=$envs_stamp$envs$envs_content other=$devices_stamp$devices$devices_content
    moved=
    "$sleep" 0.05
    sight
    clock
    [ "$one" = "$envs_stamp$envs$envs_content" ] || moved=envs
    [ "$other" = "$devices_stamp$devices$devices_content" ] || moved="$moved devices"
    if [ -z "$moved" ]; then
      return
    elif [ "$now" -ge $patience ]; then
      case $moved in *envs*) envs=restless envs_content= ;; esac
      case $moved in *devices*) devices=restless devices_content= ;; esac
      return
    fi
  done
}

alive() { # which of the numbers in envs.json are processes, whose these are, and which kernels run
  pids=$({
    (cd "$PROC" && printf '%s\n' [0-9]*)
    printf %s "$envs_content" | "$base64" -d | "$tr" -cs 0-9 '\n' | "$sort" -u
  } | "$sort" | "$uniq" -d)
  # shellcheck disable=SC2086
  say alive $pids
  if [ -n "$pids" ]; then
    # shellcheck disable=SC2086
    blob uids "$(cd "$PROC" && uids $pids | "$base64" -w0)"
  fi
  if ! printf %s "$envs_content" | "$base64" -d | "$tr" -d ' \t\r\n' | "$grep" -q -a -F '"kernel_ids":["'; then
    say kernels none
  elif [ -n "$SKIP_KERNELS" ]; then
    say kernels skipped
  else
    allow 200 11
    kernels
    say kernels "$code"
  fi
}

uids() { # PIDS...: whose they are; not of all of them at once, for a command takes only so much
  while [ $# -gt 0 ]; do
    some='' count=0
    for pid; do
      [ $count -lt 2000 ] || break
      some="$some $pid/status" count=$((count + 1))
    done
    shift $count
    # shellcheck disable=SC2086
    "$grep" -s -H '^Uid:' $some
  done
}
