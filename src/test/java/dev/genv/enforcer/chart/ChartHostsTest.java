package dev.genv.enforcer.chart;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.remote.HostAddress;
import dev.genv.enforcer.testsupport.RenderedChart;
import java.io.IOException;
import java.nio.file.Files;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The schema accepts exactly the machines that the service accepts. */
class ChartHostsTest {
    @ParameterizedTest
    @ValueSource(
            strings = {
                "gpu-1",
                "gpu-1:1",
                "gpu-1:022",
                "gpu-1:00022",
                "gpu-1:65535",
                "raz@gpu-1.example.com:2222",
                "dom\\user@gpu-1",
                "a@b@c",
                "$user+x@_gpu",
                ".a",
                "10.0.0.1",
                "[::1]",
                "[::]:22",
                "raz@[fe80::1%eth0.1]:65535",
                "[::ffff:10.0.0.1]",
                "[::FFFF:1.2.3.4]:9",
                "[:::::]",
                "[1:2:3:4:5:6:7:8]",
                // these are not machines
                "",
                " ",
                "gpu 1",
                "gpu-1,gpu-2",
                "gpu-1#",
                "gpu-1:",
                "gpu-1:0",
                "gpu-1:00000",
                "gpu-1:000022",
                "gpu-1:65536",
                "gpu-1:99999",
                "gpu-1:123456",
                "gpu-1:+22",
                "gpu-1:-1",
                "gpu-1:22:22",
                "-gpu",
                "-u@gpu",
                "@gpu",
                "raz@",
                "r z@gpu",
                "r/z@gpu",
                "r:z@gpu",
                "gpü",
                "ü@gpu",
                "gpu-1:２２",
                "::1",
                "[::1",
                "::1]",
                "[]",
                "[:]",
                "[10.0.0.1]",
                "raz@[10.0.0.1]",
                "raz@[10.0.0.1]:22",
                "[abcd]",
                "[abcd%eth0]",
                "[2001:db8::1.2.3.4]",
                "[::ffff:10.0.0.1%eth0]",
                "[::ffff:1.1.1]",
                "[::ffff:1.1]",
                "[::1%]",
                "[::1%a:b]",
                "[::1%abcdefghijklmnopqrstuvwxyz0123456]",
                "[::1%abcdefghijklmnopqrstuvwxyz012345]",
                "[::1%eth 0]",
                "[1111:2222:3333:4444:5555:6666:7777:8888]",
                "[1111:2222:3333:4444:5555:6666:7777:88889]",
                "[::1]22",
                "[::1]:",
                "[g::1]",
            })
    void schemaAcceptsTheSameHostsAsTheService(String host) throws IOException {
        assertThat(schemaAccepts(host)).isEqualTo(serviceAccepts(host));
    }

    @Test
    void schemaHasTheSameLengthLimitAsTheService() throws IOException {
        for (var length : new int[] {1, 254, 255, 256, 257}) {
            var name = "a".repeat(length);
            assertThat(schemaAccepts(name)).isEqualTo(serviceAccepts(name));
            assertThat(schemaAccepts(name + "@b")).isEqualTo(serviceAccepts(name + "@b"));
        }
    }

    /** Helm has its own dialect of patterns, so Helm checks some of them here. */
    @Test
    void helmAppliesThePatternsOfTheSchema() {
        for (var host : new String[] {"raz@[10.0.0.1]", "[2001:db8::1.2.3.4]", "gpu-1:000022"}) {
            assertThat(RenderedChart.errorOf("remote: {hosts: ['%s']}".formatted(host)))
                    .contains("at '/remote/hosts/0'");
        }
        for (var host : new String[] {"raz@[fe80::1%eth0.1]:00022", "[::ffff:10.0.0.1]", "a@b@c"}) {
            assertThat(RenderedChart.errorOf("remote: {hosts: ['%s']}".formatted(host)))
                    .doesNotContain("at '/remote/hosts/0'")
                    .contains("set mode=remote");
        }
    }

    private static boolean schemaAccepts(String host) throws IOException {
        var schema = RenderedChart.parse(Files.readString(RenderedChart.CHART.resolve("values.schema.json")))
                .at("/definitions/host");
        return Pattern.compile(schema.path("pattern").asText()).matcher(host).find()
                && !Pattern.compile(schema.at("/not/pattern").asText())
                        .matcher(host)
                        .find();
    }

    private static boolean serviceAccepts(String host) {
        try {
            HostAddress.parse(host);
            return true;
        } catch (IllegalArgumentException e) {
            return false;
        }
    }
}
