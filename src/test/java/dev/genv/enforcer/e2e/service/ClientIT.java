package dev.genv.enforcer.e2e.service;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.genv.enforcer.e2e.NodeSuite;
import dev.genv.enforcer.e2e.ServiceClient;
import dev.genv.enforcer.testsupport.Requirements;
import dev.genv.enforcer.testsupport.linux.Child;
import dev.genv.enforcer.testsupport.linux.Programs;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A client in TypeScript whose types and validators are generated from the description that the packaged service sends. */
@Tag("long")
class ClientIT extends NodeSuite {
    private static final Path SOURCE = Path.of("src/test/client");

    /** npm gets the packages of package-lock.json from its registry. */
    @Test
    void strictClientThatIsGeneratedFromTheDescriptionReadsEveryAnswer() throws IOException {
        Requirements.program("/usr/bin/node", "nodejs");
        Requirements.program("/usr/bin/npm", "npm");
        var client = Files.createDirectory(directory.resolve("client"));
        for (var name : List.of("client.ts", "package.json", "package-lock.json")) {
            Files.copy(SOURCE.resolve(name), client.resolve(name));
        }
        Programs.shell(client, "npm ci --ignore-scripts --no-audit --no-fund --silent");
        node.addDatabase();
        node.set("MODE", "audit").set("NON_ENV_PROCESSES", "audit").set("GRACE", "0s");
        try (var shell = Child.withEnvironment(Map.of());
                var stray = Child.withEnvironment(Map.of())) {
            writeEnvironment(shell);
            node.gpus.process(1, stray.pid(), "10");
            var service = node.startService();
            var described = new ServiceClient(service);
            await().until(() -> described.text("/violations").contains("\"outcome\":"));
            assertThat(described.post("/plan", "{}").path("actions"))
                    .as("audit mode")
                    .isEmpty();
            assertThat(described
                            .post("/plan", "{\"policy\": {\"rules\": {\"non-env-processes\": \"enforce\"}}}")
                            .at("/actions/0/pid")
                            .asInt())
                    .isEqualTo(stray.pid());

            Programs.shell(client, """
                    export PATH="$PWD/node_modules/.bin:$PATH"
                    openapi-typescript http://127.0.0.1:%1$d/q/openapi --output api.d.ts
                    tsc --strict --target es2022 --module nodenext --skipLibCheck client.ts
                    exec node client.js http://127.0.0.1:%1$d >read
                    """.formatted(service.port()).strip().replace("\n", " && "));
            assertThat(client.resolve("read")).content().contains("1 violations");
        }
    }
}
