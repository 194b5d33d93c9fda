package dev.genv.enforcer.config.settings;

import dev.genv.enforcer.config.settings.SettingKind.Accepts;
import io.smallrye.config.ConfigMapping;
import io.smallrye.config.WithDefault;
import io.smallrye.config.WithName;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** Where the service listens, and which requests it answers. Quarkus itself reads the variables {@code QUARKUS_…}. */
@ConfigMapping(prefix = "")
public interface HttpSettings {
    /** Address of the API. The image sets {@code 0.0.0.0}. */
    @WithName("quarkus.http.host")
    @WithDefault("127.0.0.1")
    String httpHost();

    /** Port of the API. {@code 0} means any free port. */
    @WithName("quarkus.http.port")
    @WithDefault("8080")
    @Accepts(SettingKind.PORT)
    int httpPort();

    /** Address of health and metrics. The image sets {@code 0.0.0.0}. */
    @WithName("quarkus.management.host")
    @WithDefault("127.0.0.1")
    String managementHost();

    /** Port of health and metrics. {@code 0} means any free port. */
    @WithName("quarkus.management.port")
    @WithDefault("9000")
    @Accepts(SettingKind.PORT)
    int managementPort();

    /**
     * File with a bearer token. If it is set, every request except those for health and for the files of the page requires the token. The service reads the
     * file every second. While the file is missing, unreadable or not a regular file, these requests get 503 and readiness fails.
     * The log warns if a user other than root and the service's own owns the file, can write to it or can replace it.
     */
    @WithName("genv.enforcer.api-token-file")
    @Accepts(SettingKind.FILE_OF_TOKEN)
    Optional<Path> apiTokenFile();

    /**
     * Host names by which clients may address the service, in addition to {@code localhost}, addresses and the node's name. Set
     * it for the names of a proxy. Web pages of these hosts may send requests too. Separate the names by commas or blanks.
     */
    @WithName("genv.enforcer.http-allowed-hosts")
    @WithDefault("")
    @Accepts(SettingKind.HOST_NAMES)
    List<String> httpAllowedHosts();
}
