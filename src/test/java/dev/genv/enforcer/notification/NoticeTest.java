package dev.genv.enforcer.notification;

import static dev.genv.enforcer.enforcement.host.Outcome.DENIED;
import static dev.genv.enforcer.enforcement.host.Outcome.DETACHED;
import static dev.genv.enforcer.enforcement.host.Outcome.SIGNALLED;
import static dev.genv.enforcer.enforcement.host.Outcome.SKIPPED_GRACE;
import static dev.genv.enforcer.enforcement.host.Outcome.SKIPPED_UNCONFIRMED;
import static dev.genv.enforcer.notification.NoticeFixture.action;
import static dev.genv.enforcer.notification.NoticeFixture.lastAction;
import static dev.genv.enforcer.notification.NoticeFixture.notice;
import static dev.genv.enforcer.notification.NoticeFixture.opened;
import static dev.genv.enforcer.notification.NoticeFixture.personal;
import static dev.genv.enforcer.notification.NoticeFixture.resolved;
import static dev.genv.enforcer.testsupport.builder.GpuProcessBuilder.process;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;
import static dev.genv.enforcer.testsupport.builder.ViolationBuilder.violationOf;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.report.Event.EventContent;
import dev.genv.enforcer.enforcement.report.SavedState.SavedCycle;
import dev.genv.enforcer.enforcement.report.ViolationRecord.ActionNote;
import dev.genv.enforcer.enforcement.report.ViolationRegistry;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.GpuProcess.Workload;
import dev.genv.enforcer.model.GpuProcess.Workload.Container;
import dev.genv.enforcer.model.GpuProcess.Workload.Pod;
import dev.genv.enforcer.model.GpuProcess.Workload.SlurmJob;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.notification.Notice.NoticeKind;
import dev.genv.enforcer.policy.Action.Signal;
import dev.genv.enforcer.testsupport.KnownRules;
import dev.genv.enforcer.testsupport.builder.GpuProcessBuilder;
import dev.genv.enforcer.testsupport.builder.ViolationBuilder;
import dev.genv.enforcer.testsupport.fake.FakeHost;
import dev.genv.enforcer.testsupport.fake.FakeTime;
import java.net.URI;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Who is informed of which events, and with which words. */
class NoticeTest {
    private static final NoticeText TEXT = NoticeFixture.texts(
            Optional.of(Duration.ofSeconds(30)), new ViolationRegistry(10), new UserDirectory(false));
    private static final String ADVICE = " " + KnownRules.NON_ENV_PROCESSES.advice();

    private static final String DETACHMENT =
            "The service detached GPU 0 from environment \"a\" on gpu-1 at 2026-11-20 09:22:28 UTC, because of the rule"
                    + " max-devices-per-user: User raz is using 3 devices which is 1 more than the maximum allowed.";

    private final ViolationBuilder violation = violationOf(process(812).uid(1003));

    @Test
    void otherEventsThanThoseOfViolationsAreNoNotices() {
        assertThat(kind(opened(violationOf(process(812))))).isEqualTo(NoticeKind.OPENED);
        assertThat(kind(resolved(violationOf(process(812))))).isEqualTo(NoticeKind.RESOLVED);
        assertThat(notice(new EventContent.ServiceStarted("1", "audit"))).isEmpty();
        assertThat(notice(new EventContent.ProblemBegan("gpu-1", new Problem(ProblemCode.TIMEOUT, ""))))
                .isEmpty();
    }

    @ParameterizedTest
    @EnumSource
    void warningsActionsAndTheirFailuresAreNotices(Outcome outcome) {
        var expected = switch (outcome) {
            case SKIPPED_GRACE, SKIPPED_UNCONFIRMED -> NoticeKind.WARNED;
            case SIGNALLED, DETACHED, DENIED, FAILED, UNKILLABLE -> NoticeKind.ACTED;
            default -> null;
        };
        assertThat(notice(action(violationOf(process(812)), 812, outcome)).map(Notice::kind))
                .isEqualTo(Optional.ofNullable(expected));
    }

    @Test
    void eachProcessOfAViolationIsWarnedOnceAndNotInAuditMode() {
        var violation = violationOf(process(812), process(813)).action(812, SKIPPED_GRACE);
        assertThat(kind(action(violation, 813, SKIPPED_GRACE))).isEqualTo(NoticeKind.WARNED);
        assertThat(notice(action(violation, 812, SKIPPED_GRACE)))
                .as("another reason to wait")
                .isEmpty();
        assertThat(notice(action(violationOf(process(812)).audited(), 812, SKIPPED_GRACE)))
                .isEmpty();
    }

    @Test
    void aProcessIsWarnedAnewAfterAnotherOutcome() {
        var violation = violationOf(process(812)).action(812, SKIPPED_GRACE).action(812, Outcome.SKIPPED_AUDIT);
        assertThat(kind(action(violation, 812, SKIPPED_GRACE))).isEqualTo(NoticeKind.WARNED);
        assertThat(notice(action(violation, 812, SKIPPED_GRACE))).isEmpty();
    }

    private static NoticeKind kind(EventContent content) {
        return notice(content).orElseThrow().kind();
    }

    /** The uids that are informed of an event. The live pids of the environment a have the uid 1009. */
    static Stream<Arguments> recipients() {
        var two = (Supplier<ViolationBuilder>)
                () -> violationOf(process(812).uid(1003), process(813).uid(1004));
        var pod = new Workload(null, null, new Pod("8b0f6b5e"), null);
        var onDevices = violationOf(
                process(812).uid(1003).inEnvironment("a").uses(2),
                process(813).uid(1004).inEnvironment("a").uses(1),
                process(814).uid(1005).inEnvironment("b").uses(2));
        return Stream.of(
                arguments("a warning", action(two.get(), 812, SKIPPED_GRACE), List.of(1003L)),
                arguments("an action", action(two.get(), 813, SIGNALLED), List.of(1004L)),
                arguments("a failure, which concerns the administrator", action(two.get(), 812, DENIED), List.of()),
                arguments("a user unknown", action(violationOf(process(812).uidUnknown()), 812, SIGNALLED), List.of()),
                arguments(
                        "a process of a pod",
                        action(violationOf(process(812).uid(1003).workload(pod)), 812, SIGNALLED),
                        List.of()),
                arguments(
                        "a detachment: the user of the process on the device, and that of the environment",
                        lastAction(onDevices.action(detachment(DETACHED))),
                        List.of(1003L, 1009L)),
                arguments(
                        "a detachment without a process",
                        lastAction(violationOf().action(detachment(DETACHED))),
                        List.of(1009L)),
                arguments(
                        "a warning without a process",
                        lastAction(violationOf().action(detachment(SKIPPED_GRACE))),
                        List.of(1009L)),
                arguments(
                        "the end of a warned violation without a process",
                        resolved(violationOf().action(detachment(SKIPPED_GRACE))),
                        List.of(1009L)),
                arguments(
                        "a failed detachment", lastAction(violationOf().action(detachment(Outcome.FAILED))), List.of()),
                arguments("a new violation, which a warning or an action follows", opened(two.get()), List.of()),
                arguments(
                        "a new violation in audit mode, if that is not set",
                        opened(two.get().audited()),
                        List.of()),
                arguments(
                        "the end of a warned violation",
                        resolved(two.get().action(812, SKIPPED_GRACE)),
                        List.of(1003L)),
                arguments("the end of a violation without a warning", resolved(two.get()), List.of()),
                arguments(
                        "the end of a violation after an action",
                        resolved(two.get().action(812, SKIPPED_GRACE).action(812, SIGNALLED)),
                        List.of()));
    }

    /** Users are identified by the real uids of processes only. */
    @ParameterizedTest(name = "{0}")
    @MethodSource("recipients")
    void usersOfTheProcessesOrOfTheEnvironmentAreInformed(String name, EventContent content, List<Long> uids) {
        assertThat(personal(content, 1009).keySet()).containsExactlyElementsOf(uids);
    }

    @Test
    void auditedViolationGoesToItsUsersIfThatIsSet() {
        var audited = violationOf(
                process(812).uid(1003), process(813).uid(1004), process(814).uid(1003));
        assertThat(personalInAudit(opened(audited))).isEmpty();
        assertThat(personalInAudit(opened(audited.audited())))
                .extracting(notice ->
                        notice.processes().stream().map(GpuProcess::pid).toList())
                .containsExactly(List.of(812, 814), List.of(813));
    }

    private static ActionNote detachment(Outcome outcome) {
        return new ActionNote(
                new ActionNote.Target("here", null, "a", 2), Optional.empty(), FakeTime.START, outcome, null);
    }

    @Test
    void warningSaysWhatIsWrongWhatHappensAndWhatToDo() {
        assertThat(text(personal(action(violation, 812, SKIPPED_GRACE))))
                .isEqualTo("Process 812 (python) on gpu-1 breaks the rule non-env-processes:"
                        + " Process 812 is not running in a GPU environment."
                        + " The service may terminate it later."
                        + " It does not act yet, because it has not yet lasted 60 s." + ADVICE);
    }

    @Test
    void firstSignalAnnouncesTheSecondOneWhichIsNamed() {
        assertThat(text(personal(action(violation, 812, SIGNALLED))))
                .isEqualTo("The service sent SIGTERM to process 812 (python) on gpu-1, because of the rule"
                        + " non-env-processes: Process 812 is not running in a GPU environment."
                        + " What still breaks a rule after 30 s gets SIGKILL." + ADVICE);

        var target = new ActionNote.Target("here", 812, null, null);
        var kill = new ActionNote(target, Optional.of(Signal.KILL), FakeTime.START, SIGNALLED, null);
        assertThat(text(personal(lastAction(violation.action(kill)))))
                .startsWith("The service sent SIGKILL to process 812")
                .doesNotContain("after 30 s");
    }

    @Test
    void auditAndTheEndOfAWarnedViolationSayThatNothingIsDone() {
        assertThat(text(personal(resolved(violationOf(process(812).uid(1003)).action(812, SKIPPED_GRACE)))))
                .isEqualTo("Process 812 (python) on gpu-1 no longer breaks the rule non-env-processes."
                        + " The service took no action.");
        var seven = IntStream.rangeClosed(1, 7)
                .mapToObj(pid -> process(pid).uid(1003))
                .toArray(GpuProcessBuilder[]::new);
        assertThat(text(personalInAudit(opened(violationOf(seven).audited()))))
                .startsWith("Your 7 processes 1, 2, 3, 4, 5, 6, 7 on gpu-1 break the rule non-env-processes")
                .contains(" The service only reports this and takes no action.");
    }

    @Test
    void detachmentNamesEnvironmentAndGpu() {
        assertThat(text(ofOwner(lastAction(overQuota(DETACHED)))))
                .isEqualTo(DETACHMENT + " " + KnownRules.MAX_DEVICES_PER_USER.advice());
    }

    @Test
    void warningAndEndOfADetachmentWithoutAProcessNameTheEnvironment() {
        assertThat(text(ofOwner(lastAction(overQuota(SKIPPED_GRACE)))))
                .startsWith(
                        "Your environments on gpu-1 break the rule max-devices-per-user: User raz is using 3 devices"
                                + " which is 1 more than the maximum allowed."
                                + " The service may detach GPU 0 from environment \"a\" later.");
        assertThat(text(ofOwner(resolved(overQuota(SKIPPED_GRACE)))))
                .startsWith("Your environments on gpu-1 no longer break the rule max-devices-per-user.");
    }

    /** Otherwise the user attaches the GPU again, and the service detaches it again. */
    @Test
    void nextJobOnADetachedGpuLearnsWhichGpuWasDetachedWhenAndWhy() {
        var registry = new ViolationRegistry(10);
        registry.restore(
                List.of(),
                List.of(overQuota(DETACHED).id("before").resolved().build()),
                new SavedCycle(0, 0, Map.of(), 0, 0, Instant.EPOCH, Instant.EPOCH, 0),
                false);
        var texts = NoticeFixture.texts(Optional.empty(), registry, new UserDirectory(false));
        var next = violationOf(process(813).uid(1003)).rule(KnownRules.ENV_DEVICES);
        assertThat(texts.paragraph(personal(action(next.environment("a"), 813, SIGNALLED))))
                .endsWith(" " + DETACHMENT + " " + KnownRules.ENV_DEVICES.advice());
        assertThat(texts.paragraph(personal(action(next.environment("b"), 813, SIGNALLED))))
                .doesNotContain("detached GPU 0");
    }

    @Test
    void titleAnnouncesOnlyWhatTheTextAnnounces() {
        assertThat(title(personal(action(violation, 812, SKIPPED_GRACE))))
                .isEqualTo("process 812 on gpu-1 may be terminated");
        var later = violationOf(process(812).uid(1003))
                .next(813, FakeTime.START.plusSeconds(9))
                .next(812, FakeTime.START.plusSeconds(60));
        var known = personal(action(later, 812, SKIPPED_GRACE));
        assertThat(title(known)).isEqualTo("process 812 on gpu-1 will be terminated");
        assertThat(text(known))
                .contains(
                        "The service will terminate it soon after 2026-11-20 09:23:28 UTC, unless the violation ends");
        assertThat(title(personal(action(violation, 812, SIGNALLED)))).isEqualTo("process 812 on gpu-1 was terminated");
        assertThat(title(ofOwner(lastAction(overQuota(SKIPPED_GRACE))))).isEqualTo("GPU 0 on gpu-1 may be detached");
        assertThat(title(ofOwner(lastAction(overQuota(DETACHED))))).isEqualTo("GPU 0 on gpu-1 was detached");
        assertThat(title(ofOwner(resolved(overQuota(SKIPPED_GRACE)))))
                .isEqualTo("your environments on gpu-1 break no rule any more");
        assertThat(title(personalInAudit(opened(violation.audited())))).isEqualTo("process 812 on gpu-1 breaks a rule");
    }

    private static String title(List<Notice> personal) {
        return NoticeText.title(personal);
    }

    /** A violation of a quota without a process, with an action on GPU 0 of the environment a. */
    private static ViolationBuilder overQuota(Outcome outcome) {
        return violationOf()
                .rule(KnownRules.MAX_DEVICES_PER_USER)
                .message("User raz is using 3 devices which is 1 more than the maximum allowed")
                .action(new ActionNote(
                        new ActionNote.Target("gpu-1", null, "a", 0), Optional.empty(), FakeTime.START, outcome, null));
    }

    @Test
    void textOfUsersIsEscapedAndBounded() {
        var evil = violationOf(process(812).uid(1003)).message("\u001b[2J\r\n\u202e" + "x".repeat(10_000));
        assertThat(text(personal(action(evil, 812, SIGNALLED))))
                .doesNotContainPattern("\\p{Cntrl}|\\u202e")
                .contains("\\u001b[2J")
                .hasSizeLessThan(1_000);
    }

    /** Each of them has a violation of its own. */
    @Test
    void fifteenTerminatedProcessesAreOneParagraph() {
        var notices = IntStream.rangeClosed(1, 15)
                .mapToObj(pid -> personal(
                        action(violationOf(process(pid).uid(1003).uses(pid % 2)).id("v" + pid), pid, SIGNALLED)))
                .map(List::getFirst)
                .toList();

        assertThat(NoticeText.groups(notices)).hasSize(1);
        assertThat(NoticeText.title(notices)).isEqualTo("15 processes on gpu-1 were terminated");
        assertThat(TEXT.paragraph(notices))
                .isEqualTo("The service sent SIGTERM to your 15 processes"
                        + " 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 on gpu-1,"
                        + " because of the rule non-env-processes: process outside all environments, GPU(s) 0,1."
                        + " What still breaks a rule after 30 s gets SIGKILL." + ADVICE);
    }

    @Test
    void whatHappenedForOtherReasonsIsAnotherParagraph() {
        var notices = Stream.of(
                        action(violationOf(process(1).uid(1003)), 1, SIGNALLED),
                        action(violationOf(process(2).uid(1003)), 2, SKIPPED_GRACE),
                        action(violationOf(process(3).uid(1003)).rule(KnownRules.ENV_DEVICES), 3, SIGNALLED),
                        action(violationOf(process(4).uid(1003)).hosts("gpu-2"), 4, SIGNALLED))
                .map(content -> personal(content).getFirst())
                .toList();

        assertThat(NoticeText.groups(notices)).hasSize(4);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        Environment a is using 1153m on device 0 which is 104m over its capacity of 1000mi | using 1100 MiB on device 0 which is 100 MiB over its \
        capacity of 1000 MiB
        User raz is using 84000m of GPU memory on 2 hosts which is 4000m more than the maximum allowed | using 80109 MiB of GPU memory on 2 hosts \
        which is 3815 MiB more
        User raz is using 3 devices which is 1 more than the maximum allowed | using 3 devices which is 1 more than
        """)
    void everyAmountOfMemoryIsInMebibytes(String message, String shown) {
        assertThat(text(personal(action(violationOf(process(812).uid(1003)).message(message), 812, SIGNALLED))))
                .contains(shown);
    }

    /** By them the user recognizes the process, and what is lost. */
    @Test
    void processHasItsGpusItsMemoryItsLocalStartAndALink() {
        var users = new UserDirectory(false);
        var observed = new FakeHost(host("gpu-1")).setTicks(3_600_00 + 991_232).observe();
        users.update(new Fleet(List.of(observed), true, FakeTime.START));
        var text = new NoticeText(
                Optional.empty(),
                new ViolationRegistry(0),
                users,
                ZoneId.of("Europe/Vienna"),
                Optional.of(URI.create("https://gpus.example.org")));
        var using =
                violationOf(process(812).uid(1003).uses(1, "2g").uses(3, "1g")).id("v1");

        assertThat(text.paragraph(personal(action(using, 812, SIGNALLED))))
                .contains("process 812 (python, GPU 1 with 1908 MiB, GPU 3 with 954 MiB, started 2026-11-20 09:22:28"
                        + " CET) on gpu-1")
                .endsWith(" See https://gpus.example.org/#/violations/v1");
    }

    @Test
    void workloadIsNamed() {
        var container = new Container("0123456789abcdef");
        assertThat(textWith(new Workload(null, container, null, null)))
                .contains("812 (python, container 0123456789ab)");
        assertThat(textWith(new Workload(null, container, new Pod("uid"), null)))
                .contains("812 (python, container 0123456789ab)");
        assertThat(textWith(new Workload(null, null, null, new SlurmJob("4711"))))
                .contains("812 (python, Slurm job 4711)");
    }

    private static String textWith(Workload workload) {
        var attributed = violationOf(process(812).uid(1003).workload(workload));
        return TEXT.paragraph(List.of(notice(action(attributed, 812, SIGNALLED)).orElseThrow()));
    }

    /** The notice of the owner of the environment a. */
    private static List<Notice> ofOwner(EventContent content) {
        return List.copyOf(personal(content, 1003).values());
    }

    private static List<Notice> personalInAudit(EventContent content) {
        return List.copyOf(NoticeFixture.byUid(content, new UserDirectory(true)).values());
    }

    private static String text(List<Notice> personal) {
        assertThat(personal).hasSize(1);
        return TEXT.paragraph(personal);
    }
}
