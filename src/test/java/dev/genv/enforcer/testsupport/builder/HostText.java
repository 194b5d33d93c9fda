package dev.genv.enforcer.testsupport.builder;

import dev.genv.enforcer.model.GpuProcess.Immunity;
import dev.genv.enforcer.model.SnapshotPart;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.List;
import java.util.Queue;

/** Reads a part of a host in words, such as {@code process 812 in a uid 1007 on 0=1100mi,1}. */
final class HostText {
    private HostText() {}

    static void add(HostBuilder host, String line) {
        var words = new ArrayDeque<>(List.of(line.split(" ")));
        var kind = words.remove();
        switch (kind) {
            case "env" -> host.with(environment(words));
            case "process" -> host.with(process(words));
            case "unlisted" -> host.withUnlisted(process(words));
            case "opened" -> host.withFilesOpen(process(words));
            case "missing" -> host.missing(SnapshotPart.valueOf(words.remove()));
            case "shell" -> host.pidOf(number(words), number(words));
            case "subordinate" -> host.subordinate(number(words), number(words), number(words));
            default -> throw new IllegalArgumentException(kind);
        }
    }

    private static EnvBuilder environment(Queue<String> words) {
        var environment = EnvBuilder.env(words.remove());
        var devices = new int[0];
        var time = EnvBuilder.TIME;
        while (!words.isEmpty()) {
            var word = words.remove();
            switch (word) {
                case "of" -> environment.user(words.remove());
                case "unnamed" -> environment.withoutUsername();
                case "uid" -> environment.uid(number(words));
                case "capacity" -> environment.capacity(words.remove());
                case "live" -> environment.livePidsOf(number(words));
                case "account" -> environment.account();
                case "disputed" -> environment.disputed("so");
                case "exempt" -> environment.exempt();
                case "pids" -> environment.pids(number(words));
                case "on" ->
                    devices = Arrays.stream(words.remove().split(","))
                            .mapToInt(Integer::parseInt)
                            .toArray();
                case "at" -> time = time(words);
                default -> throw new IllegalArgumentException(word);
            }
        }
        return environment.attachedAt(time, devices);
    }

    private static String time(Queue<String> words) {
        var word = words.remove();
        return switch (word) {
            case "OLD" -> "01/01/2026 00:00:00";
            case "NEW" -> "31/12/2026 00:00:00";
            default -> word + " " + words.remove();
        };
    }

    private static GpuProcessBuilder process(Queue<String> words) {
        var process = GpuProcessBuilder.process(number(words));
        while (!words.isEmpty()) {
            var word = words.remove();
            switch (word) {
                case "in" -> process.inEnvironment(words.remove());
                case "unknown" -> process.membershipUnknown();
                case "listed" -> process.listed();
                case "immune" -> process.immune(Immunity.Kind.PROTECTED, "so");
                case "later" -> process.startedLaterBy(number(words));
                case "uid" -> uid(process, words.remove());
                case "on" -> Arrays.stream(words.remove().split(",")).forEach(use -> use(process, use.split("=", -1)));
                default -> throw new IllegalArgumentException(word);
            }
        }
        return process;
    }

    private static void uid(GpuProcessBuilder process, String text) {
        if (text.equals("?")) {
            process.uidUnknown();
        } else {
            process.uid(Long.parseLong(text));
        }
    }

    /** A device, and how much memory is used there. */
    private static void use(GpuProcessBuilder process, String[] parts) {
        var device = Integer.parseInt(parts[0]);
        if (parts.length == 1) {
            process.uses(device);
        } else if (parts[1].equals("?")) {
            process.usesUnknown(device);
        } else {
            process.uses(device, parts[1]);
        }
    }

    private static int number(Queue<String> words) {
        return Integer.parseInt(words.remove());
    }
}
