package dev.genv.enforcer.linux;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.genv.enforcer.linux.PasswdFile.SubuidFile;
import dev.genv.enforcer.linux.ProcStat.ProcStatus;
import dev.genv.enforcer.model.Accounts;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The formats of files in /proc and /etc. */
class FileFormatsTest {
    /** The line of a real process with another name and state. */
    private static final String TEXT = """
        16879 (%s) %s 16868 16868 14857 0 -1 %d 133 0 0 0 0 0 0 0 20 0 1 0 438555 2990080 411 \
        18446744073709551615 93869744926720 93869744944649 140727971759168 0 0 0 0 6 0 1 0 0 17 0 0 0 0 0 0 \
        93869744958736 93869744960000 93869901148160 140727971764955 140727971764963 140727971764963 \
        140727971766249 0
        """;

    private static final long ORDINARY = 4194304;
    private static final ProcStat.Relations RELATIONS = new ProcStat.Relations(16868, 14857);
    private static final ProcStat.Addresses ADDRESSES = new ProcStat.Addresses(
            93869744958736L,
            93869744960000L,
            93869901148160L,
            140727971764955L,
            140727971764963L,
            140727971764963L,
            140727971766249L);

    private static ProcStat parse(String text) throws IOException {
        return ProcStat.parse(text.getBytes(StandardCharsets.UTF_8));
    }

    @Test
    void parsesALineOfTheKernel() throws IOException {
        assertThat(parse(TEXT.formatted("sleep", "S", ORDINARY)))
                .isEqualTo(new ProcStat("sleep", 'S', ORDINARY, 1, 438555, RELATIONS, ADDRESSES));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "tmux: server", "a) R 1 (", ") Z 1 1 1 1 1 1 1", "a\nb\n", "日本"})
    void nameMayContainAnyCharacter(String name) throws IOException {
        assertThat(parse(TEXT.formatted(name, "S", ORDINARY)))
                .isEqualTo(new ProcStat(name, 'S', ORDINARY, 1, 438555, RELATIONS, ADDRESSES));
    }

    @ParameterizedTest
    @CsvSource({"R, false", "D, false", "Z, true", "X, true", "x, true"})
    void exitedStatesCountAsZombie(String state, boolean zombie) throws IOException {
        assertThat(parse(TEXT.formatted("sleep", state, ORDINARY)).isZombie()).isEqualTo(zombie);
    }

    /** Of uid 100005 in the range of uid 1003, as the kernel aligns the columns. */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "'         0          0 4294967295' | nothing",
                "'         0       1003          1/         1     100000      65536' | proven",
                "'         0     100000      65536' | proven",
                "'         5     100005          1' | nothing",
                "'         0       1003          1' | proven",
                "'         0     200000      65536/         5     100005          1' | nothing",
                "'    100000     100000      65536' | proven",
                "'         0          0     200000' | nothing",
                "'         0          0     200000/    300000     100000      65536' | nothing",
                "'' | nothing",
                "'         0          0' | unknown",
                "'         0          0 4294967295 1' | unknown",
                "'a b c' | unknown",
                "'0 0 99999999999' | unknown"
            })
    void mapOfAUserNamespace(String lines, String expected) {
        var map = UidMap.tryParse(lines.isEmpty() ? "" : lines.replace('/', '\n') + "\n");
        var found = map.map(
                its -> its.provesOwner(1003, 100_005) ? "proven" : its.isOfUser(100_005) ? "a user's" : "nothing");
        assertThat(found.orElse("unknown")).isEqualTo(expected);
    }

    @Test
    void kernelThreadIsRecognizedByItsFlag() throws IOException {
        assertThat(parse(TEXT.formatted("kworker/0:1", "I", 69238880)).isKernelThread())
                .isTrue();
        assertThat(parse(TEXT.formatted("kworker/0:1", "I", ORDINARY)).isKernelThread())
                .isFalse();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "812",
                "812 python S 1",
                "812 )python( S 1 1",
                "812 (python)",
                "812 (python) S 1 1 1",
                "812 (python) S 1 x 1 0 -1 1 133 0 0 0 0 0 0 0 20 0 1 0 4 5",
                "812 (python) S -"
            })
    void refusesOtherFormats(String text) {
        assertThatThrownBy(() -> parse(text)).isInstanceOf(IOException.class).hasMessageStartingWith("stat has ");
    }

    /** The kernel writes a line break in a name as two characters. */
    @ParameterizedTest
    @CsvSource({
        "'Name:\tpython\nTgid:\t4711\nPid:\t4712\nUid:\t1003\t1004\t1005\t1006\n', 1003",
        "'Name:\tx\\nUid:\t0\nUid:\t1003\t0\t0\t0\n', 1003",
        "'Name:\tUid: 0\nUid:\t1003\t0\t0\t0\n', 1003",
        "'Uid:\t0\t1\t1\t1\n', 0",
        "'Uid:\t4294967295\t1\t1\t1\n', 4294967295",
        "'', -1",
        "'Uid:\t1003', -1",
        "'Uid:\tx\n', -1",
        "'Uid:\t-1\t1\n', -1",
        "'Uid:\t12345678901\t1\n', -1",
        "' Uid:\t1\n', -1"
    })
    void statusShowsTheRealUid(String status, long uid) {
        assertThat(ProcStatus.realUid(status.getBytes(StandardCharsets.UTF_8))).isEqualTo(uid);
    }

    // /etc/passwd and /etc/subuid

    private static final Accounts ACCOUNTS = new Accounts(Map.of("bob", 1000L, "4711", 1002L));

    @ParameterizedTest
    @CsvSource({"165535, 165535", "165536, 1000", "231071, 1000", "231072, 1001", "300000, 1002"})
    void namesTheAccountOfASubordinateUid(long uid, long owner) {
        var file = SubuidFile.parse("bob:165536:65536\n1001:231072:100\n4711:300000:1\n");
        assertThat(file.of(ACCOUNTS).ownerOf(uid)).isEqualTo(owner);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {"nobody:165536:65536", "bob:165536", "bob:x:1", "bob:165536:-1", ":165536:1", "''"})
    void skipsInvalidRanges(String line) {
        assertThat(SubuidFile.parse(line + "\n").of(ACCOUNTS).ownerOf(165_536L)).isEqualTo(165_536L);
    }

    @Test
    void leavesAnUnknownUidUnknown() {
        assertThat(SubuidFile.EMPTY.of(ACCOUNTS).rangeOwnerOf(null)).isNull();
    }

    @Test
    void skipsInvalidAccounts() {
        var accounts = PasswdFile.parse("""
                # a comment
                +::::::
                -attacker:x:1:1:::
                :x:2:2:::
                noid:x::3:::
                minus:x:-1:3:::
                huge:x:99999999999:3:::
                none:x:4294967295:3:::
                short:x
                alice:x:1003:1003:::
                alice:x:0:0:a second one:/:
                last:x:4294967294:1:::""");
        assertThat(accounts.uidOf("alice")).hasValue(1003L);
        assertThat(accounts.uidOf("last")).hasValue(4294967294L);
        for (var none : List.of("# a comment", "+", "-attacker", "", "noid", "minus", "huge", "none", "short")) {
            assertThat(accounts.uidOf(none)).as(none).isEmpty();
        }
    }
}
