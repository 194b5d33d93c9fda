# shellcheck shell=sh
# Takes genv's lock, in a directory where every user can do what he likes.

enter() { # goes into the state directory; sets $directory, what tells it from every other; fails with $why
  if [ -L "$STATE" ]; then
    why='is a symbolic link'
  elif ! [ -d "$STATE" ]; then
    why='is not a directory'
  elif ! cd -P -- "$STATE" 2>/dev/null; then
    why='cannot be entered'
  else
    # shellcheck disable=SC2046
    set -- $("$stat" -c '%d:%i %W' . "$STATE" 2>/dev/null)
    directory=${1-} born=${2-}
    [ "$directory $born" != "${3-} ${4-}" ] || return 0
    why='is replaced while it is looked at'
  fi
  return 1
}

own_folder() { # goes into a folder that is ours alone: the usual one, or one for now where others play with that
  clear_away || return 1
  for own in "$OWN" '' '' ''; do
    if [ -z "$own" ]; then
      own=$("$mktemp" -d "$OWN.XXXXXXXXXXXX" 2>/dev/null) || return 1
    elif ! [ -e "$own" ]; then
      "$mkdir" -m 700 "$own" 2>/dev/null
    fi
    if enter_own; then
      return 0
    fi
    enter || return 1
    [ "$own" = "$OWN" ] || "$rmdir" "$own" 2>/dev/null
  done
  return 1
}

enter_own() { # whether it could go into $own, and that is ours
  if [ -L "$own" ] || ! [ -d "$own" ] || ! cd -P "$own" 2>/dev/null; then
    return 1
  fi
  # Nobody else can make a folder of ours in there, or move one there; he could have put a link to another in its place.
  # shellcheck disable=SC2046
  set -- $("$stat" -c '%u %a %d:%i' . .. 2>/dev/null)
  [ "${1-} ${2-} ${6-}" = "$uid 700 $directory" ]
}

leave_own() { # empty, so that everybody can remove it who has given it another name meanwhile
  "$rm" -f lock new
  if [ "$own" != "$OWN" ]; then
    cd -P .. && "$rmdir" "$own" 2>/dev/null
  fi
}

clear_away() { # what commands left that were broken off; fails where that led away from here
  count=0
  for own in "$OWN".????????????; do
    count=$((count + 1))
    if [ $count -gt 8 ] || ! [ -e "$own" ]; then
      continue
    elif enter_own; then
      leave_own
    else
      enter || return 1
    fi
  done
}

link_lock() { # in our folder, where nobody can exchange it: gives genv's lock another name; fails if there is none
  # shellcheck disable=SC2046
  set -- $("$stat" -c %d:%i lock ../genv.lock 2>/dev/null)
  if [ $# -eq 2 ] && [ "$1" = "$2" ]; then
    return 0
  fi
  "$rm" -f lock
  "$ln" -P -T ../genv.lock lock 2>/dev/null
}

under_lock() { # COMMAND: runs it with genv's lock held; sets $lock: held, none, timeout SECONDS, or unusable WHY
  waited=$seconds spent=0
  clock
  asked_at=$now until=$((now + hundredths))
  for _ in 1 2 3 4 5; do
    lock=none
    if ! link_lock; then
      if [ -e ../genv.lock ] || [ -L ../genv.lock ]; then
        lock='unusable cannot be linked'
      fi
    elif [ -L lock ] || ! [ -f lock ]; then
      "$rm" -f lock
      lock='unusable is not a regular file'
    else
      lock='unusable cannot be opened'
      open_first && hold "$1" 9<lock
    fi
    [ "$lock" = replaced ] || return
  done
  lock='unusable is replaced again and again'
}

left() { # sets $seconds to what is left until then: however often the lock is replaced, all is over by then
  clock
  hundredths=$((until - now))
  [ "$hundredths" -ge 5 ] || hundredths=5
  in_seconds
}

# Whose file it is can keep everybody from opening it for most of a minute (F_SETLEASE), and a shell cannot but wait for
# that. While another program has it open nobody can, so one that can be killed goes first; sets $opener.
open_first() {
  left
  # shellcheck disable=SC2016
  opener=$("$timeout" -s KILL "$seconds" "$SH" -c 'exec 9<lock || exit; "$1" 5 >/dev/null & echo $!' open "$sleep" \
    2>/dev/null)
  case $? in
    0) clock && opened=$now ;;
    137) lock='unusable is kept from being opened by its owner (fcntl F_SETLEASE)' ;;
  esac
  [ -n "$opener" ]
}

release() { # ends the one that went first, unless it may have ended by itself and its pid be that of another
  clock
  [ "$now" -ge $((opened + 400)) ] || kill "$opener" 2>/dev/null
}

hold() { # COMMAND: the same, for the lock file at descriptor 9; sets $spent to the hundredths that it took to have it
  release
  left
  "$flock" -w "$seconds" 9 2>/dev/null
  had=$?
  clock
  spent=$((now - asked_at))
  case $had in
    0) ;;
    1)
      lock="timeout $waited"
      # shellcheck disable=SC2046
      holders $("$stat" -c '%d %i' - <&9) 0 none
      return
      ;;
    *)
      lock='unusable cannot be locked'
      return
      ;;
  esac
  lock=replaced
  if in_place; then
    lock=held
    "$1"
  fi
}

in_place() { # whether what was locked still is what others lock
  # shellcheck disable=SC2046
  set -- $("$stat" -c %d:%i - ../genv.lock <&9 2>/dev/null)
  [ $# -eq 2 ] && [ "$1" = "$2" ]
}

holders() { # DEVICE INODE: sets $pids to those that hold the lock of this file
  inode=$2
  # The parts of the number that stat(2) gives, as /proc/locks shows them.
  device=$(printf '%02x:%02x' $((($1 >> 8 & 0xfff) | ($1 >> 32 & 0xfffff000))) \
    $((($1 & 0xff) | ($1 >> 12 & 0xffffff00))))
  hold_on "$device"
  if [ -z "$pids" ]; then
    # On a file system such as btrfs the device there is another one, and the inode is enough if it is the only one.
    hold_on '[0-9a-f]+:[0-9a-f]+'
    if locks_on '[0-9a-f]+:[0-9a-f]+' | "$grep" -q -v -F " $device:$inode "; then
      pids=
    fi
  fi
}

hold_on() { # DEVICE: sets $pids to those that hold a lock of $inode there, and $device to the last one's
  # shellcheck disable=SC2046
  set -- $(locks_on "$1" | "$head" -n 20)
  pids=
  while [ $# -ge 8 ]; do
    pids="$pids $5" device=${6%:*}
    shift 8
  done
}

locks_on() { # DEVICE: the lines of the locks of $inode there
  "$grep" -E "^[0-9]+: FLOCK +[A-Z]+ +[A-Z]+ +-?[0-9]+ $1:$inode 0 EOF" "$PROC/locks" 2>/dev/null
}
