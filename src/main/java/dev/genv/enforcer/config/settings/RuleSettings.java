package dev.genv.enforcer.config.settings;

import dev.genv.enforcer.config.settings.converters.Choices;
import dev.genv.enforcer.config.settings.converters.Numbers;
import dev.genv.enforcer.config.settings.converters.Users;
import dev.genv.enforcer.policy.definition.RuleMode;
import io.smallrye.config.ConfigMapping;
import io.smallrye.config.WithConverter;
import io.smallrye.config.WithDefault;
import java.util.Map;
import java.util.Optional;

/** What each rule does. */
@ConfigMapping(prefix = RuleSettings.PREFIX)
public interface RuleSettings {
    /** The prefix of the names of its properties. */
    String PREFIX = "genv.enforcer";

    /**
     * Processes that use a GPU and name no environment. {@code off} ignores them, {@code audit} reports them, {@code enforce}
     * also terminates them. {@code false} and {@code true} mean {@code off} and {@code enforce}, here and for the other rules.
     * Use {@code audit} first: a program that overwrites its environment variables seems to name none.
     */
    @WithDefault("off")
    @WithConverter(Choices.ModeOfRule.class)
    RuleMode nonEnvProcesses();

    /**
     * Processes that use a GPU and name an environment that is not active. {@code enforce} terminates them. Use {@code audit}
     * first: a {@code nohup} job whose shell has exited is such a process.
     */
    @WithDefault("off")
    @WithConverter(Choices.ModeOfRule.class)
    RuleMode inactiveEnvProcesses();

    /**
     * Processes that use a GPU that is not attached to their environment. {@code enforce} terminates them. Use {@code audit}
     * while users get used to it.
     */
    @WithDefault("enforce")
    @WithConverter(Choices.ModeOfRule.class)
    RuleMode envDevices();

    /**
     * Environments that use more memory on an attached GPU than their capacity. {@code enforce} terminates processes of the
     * environment on that GPU until the rest fits. Use {@code audit} while users get used to it.
     */
    @WithDefault("enforce")
    @WithConverter(Choices.ModeOfRule.class)
    RuleMode envMemory();

    /**
     * Number of GPUs that all environments of one user may have attached, on all machines together. Unset means no limit.
     */
    Optional<@WithConverter(Numbers.Limit.class) Integer> maxDevicesPerUser();

    /**
     * Limits of single users, instead of the general one. They also apply without a general limit. Separate them by commas
     * or blanks.
     */
    @WithDefault("")
    @WithConverter(Users.Limits.class)
    Map<String, Integer> maxDevicesForUser();

    /**
     * Users whose environments have more GPUs attached than allowed. {@code enforce} detaches the surplus and terminates the
     * processes of those environments on it. Without a limit this has no effect.
     */
    @WithDefault("enforce")
    @WithConverter(Choices.ModeOfRule.class)
    RuleMode maxDevicesPerUserMode();

    /**
     * Processes that run under another uid than the environment that they name, and environments whose recorded owners
     * disagree. {@code enforce} terminates a process only if the kernel proves that it belongs to another user. Use {@code audit}
     * first: a container that runs under another uid than its environment is such a process.
     */
    @WithDefault("audit")
    @WithConverter(Choices.ModeOfRule.class)
    RuleMode envOwner();
}
