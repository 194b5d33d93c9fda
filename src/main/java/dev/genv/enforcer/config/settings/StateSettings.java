package dev.genv.enforcer.config.settings;

import io.smallrye.config.ConfigMapping;
import io.smallrye.config.WithConverter;
import io.smallrye.config.WithDefault;
import io.smallrye.config.WithName;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;

/** Where genv's state is, and how the service reads it. */
@ConfigMapping(prefix = "genv")
public interface StateSettings {
    /**
     * genv's state directory on this node. Unset means the directory of {@code GENV_TMPDIR}. Set it if the service must use
     * another directory than genv's own variable says.
     */
    @WithName("enforcer.state-dir")
    Optional<@WithConverter(Paths.AbsolutePath.class) Path> stateDir();

    /** genv's own variable for its state directory. {@code GENV_ENFORCER_STATE_DIR} takes precedence. */
    @WithDefault("/var/tmp/genv")
    @WithConverter(Paths.AbsolutePath.class)
    Path tmpdir();

    /**
     * Time for which the service waits for genv's lock. After that it reads the state without the lock and detaches nothing in
     * that cycle. Increase it if genv holds its lock for long, for example because nvidia-smi is slow.
     */
    @WithName("enforcer.lock-timeout")
    @WithDefault("5s")
    @WithConverter(Values.Timeout.class)
    Duration lockTimeout();
}
