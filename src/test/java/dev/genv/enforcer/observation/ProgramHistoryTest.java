package dev.genv.enforcer.observation;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.host.HostFacts.ProcessFacts.ProgramFile;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.host.StateFacts.FileId;
import dev.genv.enforcer.model.Accounts;
import dev.genv.enforcer.model.Accounts.Match;
import dev.genv.enforcer.observation.ConfiguredUsers.ExemptUsers;
import dev.genv.enforcer.observation.ImmunityRules.ProgramHistory;
import dev.genv.enforcer.observation.ImmunityRules.ProtectedExecutable;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** Which of the files that a path had still count. */
class ProgramHistoryTest {
    private static final Path SERVER = Path.of("/opt/server");

    private final ProgramHistory history = new ProgramHistory();

    @ParameterizedTest
    @CsvSource({
        "/s, 0, YES",
        "/s, 1003, NO",
        "/s,, YES",
        "/s@alice, 0, YES",
        "/s@alice, 1003, YES",
        "/s@alice, 5, NO",
        "/s@1003, 1003, YES",
        "/s@eve, 1003, NO",
        "/s@eve, 5, UNKNOWN",
        "/s@*, 5, YES"
    })
    void programIsProtectedForRootAndTheConfiguredUser(String setting, @Nullable Long uid, Match isProtected) {
        var accounts = new Accounts(Map.of("alice", 1003L)).withConfigured(Map.of("eve", Optional.empty()));
        var rules = ImmunityRules.of(
                new ExemptUsers(List.of(), accounts),
                ExemptCgroups.NONE,
                List.of(ProtectedExecutable.parse(setting)),
                4711,
                List.of(new Reading.Value<>(file(1, 2, 3))),
                history,
                new Findings());
        assertThat(rules.programs().getFirst().appliesTo(uid, accounts)).isEqualTo(isProtected);
    }

    /** An upgrade may remove the file first, and install another one later. */
    @ParameterizedTest
    @EnumSource(
            value = Reading.Failure.class,
            names = {"ABSENT", "UNTRUSTED", "OTHER"})
    void programStaysProtectedWithoutAFile(Reading.Failure failure) {
        var file = file(1, 2, 3);
        assertThat(protectedFiles(new Reading.Failed<>(failure, "no file"))).isEmpty();
        assertThat(protectedFiles(new Reading.Value<>(file))).containsExactly(file);
        assertThat(protectedFiles(new Reading.Failed<>(failure, "no file"))).containsExactly(file);
    }

    private Set<ProgramFile> protectedFiles(Reading<ProgramFile> reading) {
        return ImmunityRules.of(
                        ExemptUsers.NONE,
                        ExemptCgroups.NONE,
                        List.of(ProtectedExecutable.parse(SERVER.toString())),
                        1,
                        List.of(reading),
                        history,
                        new Findings())
                .programs()
                .stream()
                .flatMap(program -> program.files().stream())
                .collect(Collectors.toSet());
    }

    /** The files that a path had, one after the other, as file system, number and creation time. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        1 2 3, 1 4 5        | 1 2 3, 1 4 5
        1 2 3, 1 4 5, 1 2 3 | 1 2 3, 1 4 5
        # root may install a program whose file gets the number of one that was removed
        1 2 3, 1 2 6        | 1 2 3, 1 2 6
        1 2 0, 1 4 5        | 1 4 5
        # a user can mount a file system that gets the number of one that was unmounted, with any file in it
        1 2 3, 7 2 3, 1 4 5 | 1 4 5
        """)
    void keepsTheFilesOfOneFileSystemWhoseCreationTimeIsKnown(String files, String kept) {
        history.remember(Path.of("/opt/other"), file(1, 8, 8));
        var known = files(files).map(file -> history.remember(SERVER, file)).toList();
        assertThat(known.getLast())
                .containsExactlyInAnyOrderElementsOf(files(kept).toList());
    }

    private static Stream<ProgramFile> files(String text) {
        return Stream.of(text.split(", "))
                .map(file ->
                        Stream.of(file.split(" ")).mapToLong(Long::parseLong).toArray())
                .map(numbers -> file(numbers[0], numbers[1], numbers[2]));
    }

    @Test
    void keepsTheLatestFiles() {
        for (var inode = 1; inode <= 100; inode++) {
            history.remember(SERVER, file(1, inode, 3));
        }
        assertThat(history.remember(SERVER, file(1, 100, 3))).hasSize(16).contains(file(1, 100, 3), file(1, 85, 3));
    }

    private static ProgramFile file(long device, long inode, long born) {
        return new ProgramFile(new FileId(device, inode), born);
    }
}
