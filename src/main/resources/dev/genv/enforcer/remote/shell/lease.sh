# shellcheck shell=sh
# Whoever acts from afar says so for a while, where nobody but us can write; whoever comes second waits until it is over.

lease() { # takes or keeps it; sets $leased to how long ago another one was here, and how long he still has it
  leased=''
  place=$("$stat" -c %d:%i "$STATE" 2>/dev/null) || place=none
  [ -e "$RUN" ] || "$mkdir" -m 700 "$RUN" 2>/dev/null
  # Where there is no such place there is no lease: not everybody who logs in may make it.
  if ! [ -L "$RUN" ] && [ -d "$RUN" ] && cd -P "$RUN" 2>/dev/null; then
    if [ "$("$stat" -c '%u %a' . 2>/dev/null)" = "$uid 700" ]; then
      leased='0 0'
      agree 8>>lock
    fi
    cd /
  fi
  [ -z "$leased" ] || say leased "$leased"
}

agree() { # the same, in that place, where one after the other does it
  "$flock" -w 1 8 2>/dev/null || return
  of='' since='' until='' clock_of=''
  if [ -f "$place" ]; then
    read -r of since until clock_of _ <"$place"
  fi
  clock
  leased=''
  if [ "$of" != "$LEASE" ] && is_running; then
    leased="$(((now - since) / 100)) $(((until - now) / 100 + 1))"
  elif [ "$LEASE_TIME" -gt 0 ]; then
    [ -n "$of" ] || tidy
    printf '%s %s %s %s\n' "$LEASE" "$now" $((now + LEASE_TIME)) "$boot" >"$place"
  fi
}

is_running() { # whether this is a lease, of this start of the machine, and not over
  case ${since:-x}${until:-x} in *[!0-9]*) return 1 ;; esac
  [ "$clock_of" = "$boot" ] && [ "$until" -gt "$now" ]
}

tidy() { # takes away what is over: whoever makes and removes the directory of the state must not fill this place
  for other in *:*; do
    of='' since='' until='' clock_of=''
    if [ -f "$other" ]; then
      read -r of since until clock_of _ <"$other"
      is_running || "$rm" -f "$other"
    fi
  done
}
