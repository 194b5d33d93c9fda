package dev.genv.enforcer.api;

import io.quarkus.test.junit.QuarkusTestProfile;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;

/** The service with a token, in audit mode on a separate node. */
public class TokenProtectedNode implements QuarkusTestProfile {
    public static final String TOKEN = "correct-horse.battery~staple";
    static final Path FOLDER = Path.of("target/guarded").toAbsolutePath();
    public static final Path TOKEN_FILE = FOLDER.resolve("token");
    static final Path STATE = FOLDER.resolve("genv");
    static final Path TOOLS = FOLDER.resolve("bin");

    @Override
    public Map<String, String> getConfigOverrides() {
        try {
            Files.createDirectories(FOLDER);
            Files.writeString(TOKEN_FILE, TOKEN + "\n");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return Map.of(
                "genv.enforcer.api-token-file", TOKEN_FILE.toString(),
                "genv.enforcer.state-dir", STATE.toString(),
                "genv.enforcer.nvidia-smi", TOOLS.resolve("nvidia-smi").toString(),
                "genv.enforcer.mode", "audit",
                "genv.enforcer.genv-metrics", "all",
                "genv.enforcer.non-env-processes", "audit",
                "genv.enforcer.inactive-env-processes", "audit",
                "genv.enforcer.max-devices-per-user", "0");
    }
}
