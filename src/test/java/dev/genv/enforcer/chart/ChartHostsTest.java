package dev.genv.enforcer.chart;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.remote.HostAddress;
import dev.genv.enforcer.testsupport.RenderedChart;
import java.io.IOException;
import java.nio.file.Files;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** The schema accepts exactly the machines that the service accepts. */
class ChartHostsTest {
    private static final Pattern BAR = Pattern.compile("\\|");

    private static final String USERS =
            "|raz@|dom\\user@|a@b@|$user+x@|@|-u@|r z@|r/z@|r:z@|ü@|" + "a".repeat(255) + "@|" + "a".repeat(256) + "@";

    private static final String HOSTS =
            "gpu-1.example.com|_gpu|.a|10.0.0.1|-gpu|gpü| |gpu 1|gpu-1,gpu-2|gpu-1#|::1|[::1|::1]|[]|[:]"
                    + "|[::1]|[fe80::1%eth0.1]|[::ffff:10.0.0.1]|[::FFFF:1.2.3.4]|[:::::]|[1:2:3:4:5:6:7:8]|[10.0.0.1]"
                    + "|[abcd]|[abcd%eth0]|[2001:db8::1.2.3.4]|[::ffff:10.0.0.1%eth0]|[::ffff:1.1.1]|[::1%]|[::1%a:b]"
                    + "|[::1%eth 0]|[g::1]"
                    + "|[::1%abcdefghijklmnopqrstuvwxyz0123456]|[::1%abcdefghijklmnopqrstuvwxyz012345]"
                    + "|[1111:2222:3333:4444:5555:6666:7777:8888]|[1111:2222:3333:4444:5555:6666:7777:88889]|"
                    + "a".repeat(255) + "|" + "a".repeat(256) + "|";

    private static final String PORTS =
            "|:|:0|:1|:022|:00000|:00022|:000022|:65535|:65536|:99999|:123456|:+22|:-1|:22:22|:２２|22";

    @Test
    void schemaAcceptsTheSameHostsAsTheService() throws IOException {
        var schema = RenderedChart.parse(Files.readString(RenderedChart.CHART.resolve("values.schema.json")))
                .at("/definitions/host");
        var required = Pattern.compile(schema.path("pattern").asText());
        var forbidden = Pattern.compile(schema.at("/not/pattern").asText());
        var accepted = 0;
        for (var user : BAR.split(USERS, -1)) {
            for (var name : BAR.split(HOSTS, -1)) {
                for (var port : BAR.split(PORTS, -1)) {
                    var host = user + name + port;
                    var accepts = required.matcher(host).find()
                            && !forbidden.matcher(host).find();
                    assertThat(accepts).as(host).isEqualTo(serviceAccepts(host));
                    accepted += accepts ? 1 : 0;
                }
            }
        }
        assertThat(accepted).isGreaterThan(200);
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

    private static boolean serviceAccepts(String host) {
        try {
            HostAddress.parse(host);
            return true;
        } catch (IllegalArgumentException e) {
            return false;
        }
    }
}
