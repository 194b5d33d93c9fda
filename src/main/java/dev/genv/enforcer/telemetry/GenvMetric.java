package dev.genv.enforcer.telemetry;

import io.prometheus.client.Collector;
import io.prometheus.client.Collector.MetricFamilySamples;
import io.prometheus.client.Collector.MetricFamilySamples.Sample;
import java.util.List;

/** A metric, as {@code genv/metrics/specs.py} of genv 1.4.3 defines it. Each is a gauge, also if its name ends in {@code _total}. */
enum GenvMetric {
    IS_INSTALLED("genv_is_installed", "Genv installation status"),
    DEVICE_TEMPERATURE("genv_device_temperature", "Device temperature in degrees C", "index"),
    DEVICE_UTILIZATION("genv_device_utilization", "Device utilization", "index"),
    DEVICE_MEMORY_USED("genv_device_memory_used_bytes", "Device used memory in bytes", "index"),
    DEVICE_MEMORY_TOTAL("genv_device_memory_total_bytes", "Device total memory in bytes", "index"),
    ENVIRONMENTS("genv_environments_total", "Number of active environments"),
    PROCESSES("genv_processes_total", "Number of running processes"),
    ATTACHED_DEVICES("genv_attached_devices_total", "Number of attached devices"),
    USERS("genv_users_total", "Number of active users"),
    ENVIRONMENT_PROCESSES("genv_environment_processes_total", "Number of running processes in an environment", "eid"),
    ENVIRONMENT_ATTACHED_DEVICES(
            "genv_environment_attached_devices_total", "Number of attached devices of an environment", "eid"),
    PROCESS_DEVICES("genv_process_devices_total", "Number of devices used by a process", "pid", "eid"),
    PROCESS_USED_GPU_MEMORY(
            "genv_process_used_gpu_memory_bytes", "Used GPU memory by a process", "pid", "eid", "device"),
    USER_ENVIRONMENTS("genv_user_environments_total", "Number of active environments of a user", "username"),
    USER_PROCESSES("genv_user_processes_total", "Number of running processes of a user", "username"),
    USER_ATTACHED_DEVICES("genv_user_attached_devices_total", "Number of attached devices of a user", "username"),
    /** Not one of genv's: genv exports any number of series. */
    OMITTED(
            "genv_enforcer_genv_series_omitted",
            "Series of genv's metrics that are not exported, because the host has more than the limit",
            "host");

    private final String exposedName;
    private final String description;

    @SuppressWarnings("ImmutableEnumChecker") // List.of
    private final List<String> labels;

    GenvMetric(String exposedName, String description, String... labels) {
        this.exposedName = exposedName;
        this.description = description;
        this.labels = List.of(labels);
    }

    /** The names of its labels, without the one for the machine. */
    List<String> labels() {
        return labels;
    }

    Sample sample(List<String> names, List<String> values, double value) {
        return new Sample(exposedName, names, values, value);
    }

    /** Returns the samples with the type and the description. */
    MetricFamilySamples family(List<Sample> samples) {
        return new MetricFamilySamples(exposedName, Collector.Type.GAUGE, description, samples);
    }
}
