package dev.genv.enforcer.api.security;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.api.security.AccessFilter.AllowedHosts;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

class AllowedHostsTest {
    private final AllowedHosts hosts = new AllowedHosts(List.of("gpu-1", "Enforcer.example.org"));

    static Stream<String> ownHosts() {
        return Stream.of("""
            localhost localhost:8080 LocalHost.:8080 127.0.0.1:8080 127.1.2.3 10.0.0.7:9000 [::1]:8080 [2001:db8::7] [::ffff:10.0.0.7]:80
            gpu-1:8080 GPU-1 enforcer.example.org. localhost:
            """.strip().split("\\s+"));
    }

    @ParameterizedTest
    @MethodSource("ownHosts")
    void allowsItsOwnNamesAndEveryAddress(String host) {
        assertThat(hosts.allowsHost(host)).isTrue();
    }

    static Stream<String> otherHosts() {
        return Stream.concat(Stream.of(" ", ""), Stream.of("""
            evil.example localhost.evil.example gpu-1.evil.example gpu-1@evil.example evil.example#gpu-1 gpu-1/evil.example
            evil.example,gpu-1 127.0.0.1.evil.example 127.0.0.1.nip.io 2130706433 127.1 256.300.1.2 010.0.0.7 1.2.3.4.5 [:::] [10.0.0.7] [.]
            [evil.example] [::1].evil.example [::1 localhost.. localhost:x localhost:999999 :8080 löcalhost
            """.strip().split("\\s+")));
    }

    @ParameterizedTest
    @MethodSource("otherHosts")
    void refusesOtherHosts(String host) {
        assertThat(hosts.allowsHost(host)).isFalse();
    }

    @ParameterizedTest
    @CsvSource({
        "http://localhost:8080,localhost:8080",
        "http://10.0.0.7:9000,10.0.0.7:9000",
        "http://[::1]:8080,[::1]:8080",
        "https://enforcer.example.org,10.0.0.7:8080",
        "https://ENFORCER.example.org:444,localhost",
    })
    void allowsPagesOfItsOwnHostAndOfConfiguredOnes(String origin, String host) {
        assertThat(hosts.allowsOrigin(origin, host)).isTrue();
    }

    @ParameterizedTest
    @CsvSource({
        "http://evil.example,localhost:8080",
        "http://localhost:3000,localhost:8080",
        "http://203.0.113.5,localhost:8080",
        "http://127.0.0.1:3000,127.0.0.1:8080",
        "null,localhost:8080",
        "'',localhost:8080",
        "file://,localhost:8080",
        "http://,localhost:8080",
        "http://gpu-1@evil.example,localhost:8080",
        "http://evil.example/gpu-1,localhost:8080",
        "http://evil.example http://gpu-1,localhost:8080",
    })
    void refusesPagesOfOtherOrigins(String origin, String host) {
        assertThat(hosts.allowsOrigin(origin, host)).isFalse();
    }
}
