package dev.genv.enforcer.testsupport;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SkippedTestsTest {
    @TempDir
    Path folder;

    @Test
    void countsSkippedTestsByRequirement() throws Exception {
        var one = report(
                "one",
                "Assumption failed: needs root: run the build as root",
                "needs sshd: apt install openssh-server");
        var other = report("other", "only on Mondays");
        Files.writeString(other.resolveSibling("TEST-aborted.xml"), """
                <testsuite name="a.B"><testcase name="x" classname="a.B"><skipped type="T"><![CDATA[T: needs root: run the build as root
                	at a.B.x(B.java:1)]]></skipped></testcase></testsuite>
                """);
        assertThat(SkippedTests.summary(List.of(one, other, other.resolveSibling("TEST-aborted.xml"))))
                .isEqualTo("Skipped: 2 for want of root (run the build as root), 1 (only on Mondays),"
                        + " 1 for want of sshd (apt install openssh-server)");
    }

    @Test
    void reportsThatNoTestWasSkipped() throws Exception {
        assertThat(SkippedTests.summary(List.of(report("one")))).isEqualTo("Skipped: no test");
    }

    private Path report(String name, String... reasons) throws Exception {
        var cases = new StringBuilder("<testcase name=\"passes\" classname=\"a.B\" time=\"0.1\"/>\n");
        for (var reason : reasons) {
            cases.append(
                    "<testcase name=\"x\" classname=\"a.B\"><skipped message=\"%s\"/></testcase>\n".formatted(reason));
        }
        return Files.writeString(
                folder.resolve("TEST-" + name + ".xml"), "<testsuite name=\"a.B\">\n" + cases + "</testsuite>\n");
    }
}
