package dev.genv.enforcer.api.security;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.genv.enforcer.api.security.ApiTls.TlsFiles;
import dev.genv.enforcer.api.security.ApiTls.UnusableTlsFilesException;
import dev.genv.enforcer.testsupport.LogRecords;
import dev.genv.enforcer.testsupport.TestCertificate;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ApiTlsTest {
    @TempDir
    static Path folder;

    private static TestCertificate first;
    private static TestCertificate second;

    @BeforeAll
    static void writeFiles() throws Exception {
        first = TestCertificate.of("first", folder);
        second = TestCertificate.of("second", folder);
        Files.writeString(folder.resolve("first.crt"), first.pem());
        Files.writeString(folder.resolve("first.key"), first.keyPem());
        Files.writeString(folder.resolve("second.key"), second.keyPem());
        Files.createDirectory(folder.resolve("folder"));
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        first.crt  | first.key  |            |
        first.crt  | first.key  | first.crt  |
        second.key | first.key  |            | second.key: expected certificates in PEM
        first.crt  | first.crt  |            | first.crt: expected the RSA or EC key of the certificate in
        first.crt  | second.key |            | second.key: expected the RSA or EC key of the certificate in
        first.crt  | first.key  | second.key | second.key: expected certificates in PEM
        missing    | first.key  |            | missing: No such file or directory
        first.crt  | folder     |            | folder:
        """)
    void acceptsOnlyFilesThatBelongTogether(
            String certificate, String key, @Nullable String authority, @Nullable String error) {
        var files = Optional.of(new TlsFiles(
                folder.resolve(certificate),
                folder.resolve(key),
                authority == null ? null : folder.resolve(authority)));
        if (error == null) {
            assertThat(new ApiTls(files)).isNotNull();
        } else {
            assertThatThrownBy(() -> new ApiTls(files))
                    .isInstanceOf(UnusableTlsFilesException.class)
                    .hasMessageStartingWith(folder + "/" + error);
        }
    }

    /** Two readings show the same content, so that a certificate is not used before its key has followed. */
    @Test
    void changedFilesAreUsedWhenTheyAreCompleteAndValid() throws Exception {
        var certificate = Files.writeString(folder.resolve("tls.crt"), first.pem());
        var key = Files.writeString(folder.resolve("tls.key"), first.keyPem());
        var files = new TlsFiles(certificate, key, null);
        var tls = new ApiTls(Optional.of(files));
        assertThat(refresh(tls, files, 3)).isZero();

        try (var log = LogRecords.of(ApiTls.class.getName())) {
            Files.writeString(certificate, second.pem());
            assertThat(refresh(tls, files, 1)).as("not settled").isZero();
            assertThat(log.lines()).isEmpty();
            assertThat(refresh(tls, files, 3)).isZero();
            assertThat(log.lines())
                    .singleElement()
                    .asString()
                    .contains("The API keeps its former TLS certificates")
                    .contains(key + ": expected the RSA or EC key of the certificate in " + certificate);
            Files.writeString(key, second.keyPem());
            assertThat(refresh(tls, files, 1)).as("not settled").isZero();
            assertThat(refresh(tls, files, 1)).isEqualTo(1);
            assertThat(refresh(tls, files, 3)).isZero();
            for (var i = 0; i < 2; i++) {
                Files.delete(key);
                assertThat(refresh(tls, files, 2)).isZero();
                Files.writeString(key, second.keyPem());
                assertThat(refresh(tls, files, 2)).isZero();
            }
            assertThat(log.lines().subList(1, log.lines().size()))
                    .hasSize(2)
                    .allMatch(line -> line.endsWith(key + ": No such file or directory"));
        }
    }

    /** Reads the files so often, and returns how often there were others. */
    private static int refresh(ApiTls tls, TlsFiles files, int times) {
        var changes = 0;
        for (var i = 0; i < times; i++) {
            changes += tls.refresh(files) ? 1 : 0;
        }
        return changes;
    }
}
