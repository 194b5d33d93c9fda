package dev.genv.enforcer.telemetry.genv;

import java.util.List;

/**
 * The value of a metric of one host.
 *
 * @param labels the values of the metric's labels, in their order
 */
record Series(GenvMetric metric, List<String> labels, double value) {
    /** Whether both would be the same series in a scrape, which must not contain a series twice. */
    record Identity(GenvMetric metric, List<String> labels) {}

    Identity identity() {
        return new Identity(metric, labels);
    }
}
