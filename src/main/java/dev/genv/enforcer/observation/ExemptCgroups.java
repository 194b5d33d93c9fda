package dev.genv.enforcer.observation;

import dev.genv.enforcer.host.Bytes;
import dev.genv.enforcer.host.HostFacts.ProcessFacts;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.model.GpuProcess.Immunity;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The cgroups in which other allocators run jobs, on one machine. Below what systemd delegates to a user, the user chooses the names.
 *
 * @param prefixes paths from the root of the first cgroup namespace
 * @param earlier those that only the policy before a change exempts
 * @param root the path of the root that the paths of processes begin at
 */
record ExemptCgroups(List<String> prefixes, List<String> earlier, Reading<String> root) {
    static final ExemptCgroups NONE = new ExemptCgroups(List.of(), List.of(), ProcessFacts.skipped());

    /** A unit of a user's systemd, or with version 1 what pam_cgfs gives to users. */
    private static final Pattern DELEGATED = Pattern.compile("user@[0-9]+\\.service");

    private static final String OF_USERS = "user";
    private static final String UNIFIED = "0::";
    /** Of the hierarchies of version 1. In others a user can enter each directory of the user, and Slurm gives those of a step to its user. */
    private static final Pattern SYSTEMD = Pattern.compile("[0-9]+:name=systemd:.*");

    /** Returns why a process in a cgroup, see cgroups(7), is not terminated; null if it may be. */
    @Nullable
    Immunity immunity(Reading<Bytes> cgroup) {
        var present = immunity(prefixes, cgroup, Immunity.Kind.EXEMPT_CGROUP, "is exempt");
        return present == null
                ? immunity(earlier, cgroup, Immunity.Kind.EXEMPT_CGROUP_BEFORE, "was exempt until the policy changed")
                : present;
    }

    private @Nullable Immunity immunity(List<String> exempt, Reading<Bytes> cgroup, Immunity.Kind kind, String why) {
        if (exempt.isEmpty()) {
            return null;
        }
        return switch (root.flatMap(
                top -> cgroup.flatMap(content -> Reading.of(places(exempt, content, names(top)))))) {
            case Reading.Failed<Set<Place>>(var _, var reason) -> perhaps(reason);
            case Reading.Value<Set<Place>>(var places) when places.contains(Place.USERS) -> null;
            case Reading.Value<Set<Place>>(var places)
            when places.contains(Place.EXEMPT) -> new Immunity(kind, "another allocator runs it: its cgroup " + why);
            case Reading.Value<Set<Place>>(var places) -> places.equals(Set.of(Place.OTHER)) ? null : perhaps("");
        };
    }

    private static Immunity perhaps(String reason) {
        return new Immunity(
                Immunity.Kind.EXEMPT_CGROUP,
                "it is unknown whether its cgroup is exempt" + (reason.isEmpty() ? "" : ": " + reason),
                false);
    }

    /** Returns where the hierarchies that count show a process. */
    private static Set<Place> places(List<String> exempt, Bytes content, List<String> top) {
        var isWhole = content.length() < ProcessFacts.LARGEST_CGROUP;
        var lines = Workloads.lines(content.text());
        var places = EnumSet.noneOf(Place.class);
        for (var i = 0; i < lines.size(); i++) {
            var line = lines.get(i);
            var place = place(exempt, line, top, !isWhole && i == lines.size() - 1);
            // In another namespace only the root of version 2 is known.
            if (line.startsWith(UNIFIED)
                    || (top.isEmpty() && (SYSTEMD.matcher(line).matches() || place == Place.USERS))) {
                places.add(place);
            }
        }
        if (!isWhole && !lines.getLast().startsWith(UNIFIED)) { // the kernel writes that line last
            places.add(Place.UNKNOWN);
        }
        return places;
    }

    private enum Place {
        EXEMPT,
        USERS,
        OTHER,
        UNKNOWN
    }

    /** @param isCut whether the end of the line is missing */
    private static Place place(List<String> prefixes, String line, List<String> top, boolean isCut) {
        var names = new ArrayList<>(top);
        for (var name : names(line.replaceFirst("[^:]*:[^:]*:", ""))) {
            if (!name.equals("..")) {
                names.add(name);
            } else if (names.isEmpty()) {
                return Place.UNKNOWN;
            } else {
                names.removeLast();
            }
        }
        if (isCut && !names.isEmpty()) {
            names.removeLast();
        }
        if (names.stream().anyMatch(name -> DELEGATED.matcher(name).matches()) || names.indexOf(OF_USERS) == 0) {
            return Place.USERS;
        }
        var exempt = prefixes.stream().map(ExemptCgroups::names).toList();
        if (exempt.stream().anyMatch(prefix -> Collections.indexOfSubList(names, prefix) == 0)) {
            return Place.EXEMPT;
        }
        return isCut && exempt.stream().anyMatch(prefix -> Collections.indexOfSubList(prefix, names) == 0)
                ? Place.UNKNOWN
                : Place.OTHER;
    }

    private static List<String> names(String path) {
        return Stream.of(path.split("/", -1)).filter(name -> !name.isEmpty()).toList();
    }
}
