package dev.genv.enforcer.e2e.load;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.IntFunction;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** Bodies for {@code POST /plan} that are small and take much memory, each in any size. */
final class HostileBodies {
    private static final String POLICY = """
            {"policy": {"non_env_processes": true, "env_devices": true, "env_memory": true,
             "inactive_env_processes": true, "max_devices_per_user": 0}, "snapshots": {"h": {""";

    private HostileBodies() {}

    /** The bodies by their content, created from a number of entries. */
    static Map<String, IntFunction<String>> all() {
        var bodies = new LinkedHashMap<String, IntFunction<String>>();
        bodies.put("empty arrays", count -> array("[]", count));
        bodies.put("nested arrays", count -> array("[".repeat(60) + "]".repeat(60), count));
        bodies.put("long field names", count -> object("\"#" + "n".repeat(4000) + "\":0", count / 100 + 1));
        bodies.put("long numbers", count -> array("9".repeat(1000), count / 100 + 1));
        bodies.put(
                "processes on many devices",
                count -> snapshot(
                        repeat("{\"pid\":#,\"used_gpu_memory\":[" + usages(3) + "],\"eid\":\"a\"}", count),
                        environment("a", "u".repeat(4096), ""),
                        256));
        bodies.put(
                "environments",
                count -> snapshot(repeat(process("#", "#"), count), repeat(environment("#", "#", ""), count), 1));
        return bodies;
    }

    private static String array(String element, int count) {
        return "{\"snapshots\":[" + repeat(element, count) + "]}";
    }

    private static String object(String field, int count) {
        return "{\"snapshots\":{" + repeat(field, count) + "}}";
    }

    private static String process(String pid, String eid) {
        return "{\"pid\":%s,\"used_gpu_memory\":[%s],\"eid\":\"%s\"}".formatted(pid, usages(1), eid);
    }

    private static String usages(int count) {
        return IntStream.range(0, count)
                .mapToObj("{\"index\":%d,\"gpu_memory\":\"9mi\"}"::formatted)
                .collect(Collectors.joining(","));
    }

    private static String environment(String eid, String user, String pids) {
        return """
                {"eid": "%s", "uid": 1000, "creation": "", "username": "%s", "config": {"gpu_memory": "1mi"}, "pids": [%s]}""".formatted(eid, user, pids);
    }

    private static String snapshot(String processes, String environments, int devices) {
        return POLICY
                + "\"processes\":{\"processes\":[" + processes + "]},\"envs\":{\"envs\":[" + environments
                + "]},\"devices\":{\"devices\":["
                + repeat("{\"index\":#,\"attachments\":[{\"eid\":\"a\"}]}", devices)
                + "]}}}}";
    }

    /** Repeats the text, each time with another number in place of the sign. */
    private static String repeat(String text, int count) {
        return IntStream.range(0, count)
                .mapToObj(Integer::toString)
                .map(number -> text.replace("#", number))
                .collect(Collectors.joining(","));
    }
}
