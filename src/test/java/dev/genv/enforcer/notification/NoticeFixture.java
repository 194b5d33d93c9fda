package dev.genv.enforcer.notification;

import static dev.genv.enforcer.testsupport.builder.EnvBuilder.env;
import static dev.genv.enforcer.testsupport.builder.HostBuilder.host;

import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.report.Event;
import dev.genv.enforcer.enforcement.report.Event.EventContent;
import dev.genv.enforcer.enforcement.report.ViolationRecord;
import dev.genv.enforcer.enforcement.report.ViolationRegistry;
import dev.genv.enforcer.model.Fleet;
import dev.genv.enforcer.testsupport.builder.ViolationBuilder;
import dev.genv.enforcer.testsupport.fake.FakeHost;
import dev.genv.enforcer.testsupport.fake.FakeTime;
import java.time.Duration;
import java.time.ZoneId;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/** Notices of events of violations. */
public final class NoticeFixture {
    private NoticeFixture() {}

    /** Texts with times in UTC and without links. */
    public static NoticeText texts(Optional<Duration> killAfter, ViolationRegistry registry, UserDirectory users) {
        return new NoticeText(killAfter, registry, users, ZoneId.of("UTC"), Optional.empty());
    }

    /** The same without SIGKILL and without earlier violations. */
    public static NoticeText texts(UserDirectory users) {
        return texts(Optional.empty(), new ViolationRegistry(0), users);
    }

    public static EventContent opened(ViolationBuilder violation) {
        return new EventContent.ViolationOpened(violation.build());
    }

    public static EventContent resolved(ViolationBuilder violation) {
        return new EventContent.ViolationResolved(violation.resolved().build());
    }

    /** An action on a process, which the violation records too. */
    public static EventContent action(ViolationBuilder violation, int pid, Outcome outcome) {
        return lastAction(violation.action(pid, outcome));
    }

    /** The last action of the violation. */
    public static EventContent lastAction(ViolationBuilder violation) {
        ViolationRecord built = violation.build();
        return new EventContent.ActionRecorded(built, built.actions().getLast());
    }

    public static Optional<Notice> notice(EventContent content) {
        return Notice.of(new Event(7, FakeTime.START, content));
    }

    public static List<Notice> personal(EventContent content) {
        return byUid(content, new UserDirectory(false)).values().stream().toList();
    }

    /** The notices by uid if the live pids of the environment a have this uid. */
    public static Map<Long, Notice> personal(EventContent content, long owner) {
        var users = new UserDirectory(false);
        users.update(fleet(
                new FakeHost(host("here").with(env("a").uid(owner).livePidsOf(owner))),
                new FakeHost(host("gpu-1").with(env("a").uid(owner).livePidsOf(owner)))));
        return byUid(content, users);
    }

    /** Observes these machines. */
    static Fleet fleet(FakeHost... machines) {
        return new Fleet(Stream.of(machines).map(FakeHost::observe).toList(), true);
    }

    static Map<Long, Notice> byUid(EventContent content, UserDirectory users) {
        return notice(content).map(notice -> notice.byUid(users)).orElse(Map.of());
    }
}
