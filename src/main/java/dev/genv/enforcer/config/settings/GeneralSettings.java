package dev.genv.enforcer.config.settings;

import dev.genv.enforcer.config.settings.SettingKind.Accepts;
import dev.genv.enforcer.enforcement.host.ServiceMode;
import dev.genv.enforcer.telemetry.GenvCollector.GenvMetrics;
import io.smallrye.config.ConfigMapping;
import io.smallrye.config.WithDefault;
import io.smallrye.config.WithName;
import java.time.Duration;
import java.util.Optional;

/** What the service does, and how often. */
@ConfigMapping(prefix = "")
public interface GeneralSettings {
    /**
     * {@code enforce} executes what the rules require. {@code audit} only reports: the service terminates no process and
     * detaches no environment. Start with {@code audit}, and enforce when you agree with its reports.
     */
    @WithName("genv.enforcer.mode")
    @WithDefault("enforce")
    ServiceMode mode();

    /**
     * Time from the start of one cycle to the start of the next. Each cycle starts up to a fifth of it later, at random,
     * so that users cannot predict it. A shorter interval reacts faster and runs nvidia-smi more often. {@code 0} runs a single
     * cycle, prints its result and exits.
     */
    @WithName("genv.enforcer.interval")
    @WithDefault("10s")
    @Accepts(SettingKind.INTERVAL)
    Duration interval();

    /**
     * genv's own switch. With {@code 0} the service sends no signal; it does everything else, and still detaches environments.
     * Set {@code 0} if genv itself must not terminate processes either.
     */
    @WithName("genv.terminate-processes")
    @WithDefault("1")
    @Accepts(SettingKind.GENV_SWITCH)
    boolean terminateProcesses();

    /**
     * Name of this node in reports, in the log and in the API. Unset means the host's name, also in a container. Set it where
     * the host's name is not unique.
     */
    @WithName("genv.enforcer.node-name")
    Optional<String> nodeName();

    /**
     * genv's own metrics, under the names of {@code genv monitor}, for genv's Grafana dashboard. {@code hosts} exports those of the
     * machines and their devices. {@code all} also exports those of each process, environment and user; their number grows with the
     * number of processes and users, up to a limit. Both values read the temperature, the power and the utilization of the devices in
     * every cycle, not once a minute. This costs one more call of nvidia-smi in each cycle.
     */
    @WithName("genv.enforcer.genv-metrics")
    @WithDefault("off")
    GenvMetrics genvMetrics();

    /** {@code true} writes each line of the log as a JSON object. Set it if a log collector reads the log. */
    @WithName("quarkus.log.console.json.enabled")
    @WithDefault("false")
    boolean logJson();
}
