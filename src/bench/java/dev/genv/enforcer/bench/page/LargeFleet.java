package dev.genv.enforcer.bench.page;

import java.util.List;
import java.util.Random;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** The answers of a service with many hosts, as JSON. A tenth of the hosts changes from one answer to the next. */
final class LargeFleet {
    private static final int ENVIRONMENTS = 16;
    private static final int VIOLATIONS = 1000;

    private final int hosts;
    private final int devices;
    private final int processesOfDevice;
    private final Random random = new Random(1);
    private final int[] versions;

    LargeFleet(int hosts, int devices, int processesOfDevice) {
        this.hosts = hosts;
        this.devices = devices;
        this.processesOfDevice = processesOfDevice;
        versions = new int[hosts];
    }

    String hosts() {
        return array(IntStream.range(0, hosts)
                .mapToObj(
                        host -> """
                            {"host":"%s","status":"ok","last_observed":"2026-11-22T12:00:00Z","observation_ms":20,\
                            "driver":"570.86","devices":%d,"processes":%d,"environments":%d,"problems":[],\
                            "missing_privileges":[],"device_status":%s}\
                            """.formatted(name(host), devices, devices * processesOfDevice, ENVIRONMENTS, status()))
                .toList());
    }

    private String status() {
        return array(IntStream.range(0, devices)
                .mapToObj(device -> """
                    {"device":%d,"temperature":60,"utilization":%d,"used_bytes":0,"total_bytes":85899345920,"model":"NVIDIA A100",\
                    "power_watts":300,"utilization_last_hour":%s,"idle_since":null,"free_since":null}\
                    """.formatted(
                                device,
                                random.nextInt(100),
                                random.ints(60, 0, 100).boxed().toList()))
                .toList());
    }

    synchronized String snapshot() {
        for (var i = 0; i < hosts / 10; i++) {
            versions[random.nextInt(hosts)]++;
        }
        return IntStream.range(0, hosts)
                .mapToObj(host -> "\"%s\":%s".formatted(name(host), snapshot(host)))
                .collect(Collectors.joining(",", "{", "}"));
    }

    private String snapshot(int host) {
        var processes = IntStream.range(0, devices * processesOfDevice)
                .mapToObj(i -> """
                    {"pid":%d,"used_gpu_memory":[{"index":%d,"gpu_memory":"%dmi"}],"user":"user%4$d","user_by":"account",\
                    "command":"python","eid":"%4$d","membership":{"by":"environ"}}\
                    """.formatted(
                                10_000 + i,
                                i / processesOfDevice,
                                500 + (i * 37 + versions[host] * 101) % 4000,
                                environment(i)))
                .toList();
        var environments = IntStream.range(0, ENVIRONMENTS)
                .mapToObj(i -> """
                    {"eid":"%d","uid":%d,"creation":"22/11/2026 09:00:00","username":"user%d","config":{"name":null,\
                    "gpu_memory":null,"gpus":1},"pids":[%d],"kernel_ids":[]}\
                    """.formatted(i, 1000 + i, i, 5000 + i))
                .toList();
        var described = IntStream.range(0, devices)
                .mapToObj(i -> """
                    {"index":%d,"total_memory":"81920mi","attachments":[{"eid":"%d","gpu_memory":null,"time":"22/11/2026 09:00:00"}]}\
                    """.formatted(i, environment(i * processesOfDevice)))
                .toList();
        return "{\"processes\":{\"processes\":%s},\"envs\":{\"envs\":%s},\"devices\":{\"devices\":%s}}"
                .formatted(array(processes), array(environments), array(described));
    }

    /** Four environments share each device. */
    private int environment(int process) {
        return (process / processesOfDevice + process % 4) % ENVIRONMENTS;
    }

    String violations() {
        return array(IntStream.range(0, VIOLATIONS)
                .mapToObj(i -> """
                    {"id":"v%d","rule":"env-devices","host":"%s","status":"%s","mode":"enforce",\
                    "message":"Process %d from environment 1 is using non-attached GPU(s) 3","user":"user1","environment":"1",\
                    "devices":[3],"processes":[{"pid":%d,"start_time":1,"command":"python","uid":1001,"membership":{"by":"environ"}}],\
                    "first_seen":"2026-11-22T11:00:00Z","last_seen":"2026-11-22T12:00:00Z","cycles":%d,"actions":[],\
                    "next":[]}\
                    """.formatted(
                        i, name(i % hosts), i < 100 ? "active" : "resolved", i, i, i < 100 ? random.nextInt(1000) : 5))
                .toList());
    }

    static String policy() {
        return """
            {"mode":"enforce","terminate_processes":true,"interval_seconds":10,"grace_seconds":30,\
            "kill_after_seconds":30,"rules":[]}\
            """;
    }

    private static String name(int host) {
        return "gpu-%03d".formatted(host);
    }

    private static String array(List<String> elements) {
        return "[" + String.join(",", elements) + "]";
    }
}
