package dev.genv.enforcer.api.user;

import dev.genv.enforcer.api.view.ProcessView;
import dev.genv.enforcer.enforcement.host.HostReport;
import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.device.Device;
import dev.genv.enforcer.model.device.Device.Attachment;
import java.time.LocalDateTime;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** What the last cycle observed of a user on one host. */
final class UserOnHost {
    private static final Pattern UID = Pattern.compile("[1-9][0-9]{0,9}");

    private final Snapshot snapshot;
    private final Map<String, Environment> environments;
    private final Set<Long> uids;
    private final boolean isAccount;

    UserOnHost(String user, HostReport report) {
        snapshot = report.snapshot();
        environments = snapshot.environments().stream()
                .filter(environment -> environment.user().filter(user::equals).isPresent())
                .collect(Collectors.toMap(Environment::eid, environment -> environment, (first, _) -> first));
        uids = new HashSet<>();
        report.accounts().uidOf(user).ifPresent(uids::add);
        if (UID.matcher(user).matches()) {
            uids.add(Long.valueOf(user));
        }
        if (uids.isEmpty()) {
            // A user of a directory service has no local account. Root's processes are nobody's because of a record.
            environments.values().stream()
                    .filter(environment -> !environment.ownership().isDisputed())
                    .map(Environment::uid)
                    .filter(uid -> uid != null && uid != 0)
                    .forEach(uids::add);
        }
        isAccount = report.accounts().uidOf(user).isPresent()
                || (UID.matcher(user).matches()
                        && !report.accounts().namesOf(Long.parseLong(user)).isEmpty());
    }

    String host() {
        return snapshot.host();
    }

    /** Whether the host knows the user: an account, an environment or a process. */
    boolean isKnown() {
        return isAccount
                || !environments.isEmpty()
                || snapshot.allProcesses().stream().anyMatch(this::owns);
    }

    /** Whether the process has a uid of the user, or a subordinate uid. */
    boolean owns(GpuProcess process) {
        return process.uid() != null
                && (uids.contains(process.uid())
                        || uids.contains(snapshot.subordinateUids().ownerOf(process.uid())));
    }

    Stream<UserView.AttachedView> devices() {
        return snapshot.devices().stream()
                .flatMap(device -> device.attachments().stream()
                        .flatMap(attachment -> Stream.ofNullable(environments.get(attachment.eid()))
                                .map(environment -> attached(device, attachment, environment))));
    }

    private UserView.AttachedView attached(Device device, Attachment attachment, Environment environment) {
        return new UserView.AttachedView(
                snapshot.host(),
                device.index(),
                environment.eid(),
                since(attachment),
                snapshot.isComplete()
                        && snapshot.listedDevices().contains(device.index())
                        && !environment.ownership().isDisputed());
    }

    private static @Nullable LocalDateTime since(Attachment attachment) {
        var at = attachment.attachedAt();
        return at.equals(LocalDateTime.MIN) ? null : at;
    }

    Stream<UserView.UserProcessView> processes() {
        return snapshot.allProcesses().stream()
                .filter(process -> owns(process) || environmentOf(process) != null)
                .map(this::view);
    }

    private @Nullable Environment environmentOf(GpuProcess process) {
        return process.membership() instanceof Membership.InEnvironment(var eid) ? environments.get(eid) : null;
    }

    private UserView.UserProcessView view(GpuProcess process) {
        var environment = process.membership() instanceof Membership.InEnvironment(var eid) ? eid : null;
        return new UserView.UserProcessView(
                snapshot.host(),
                environment,
                process.usage().stream()
                        .map(use -> new UserView.UsageView(
                                use.device(),
                                use.memory() == null ? null : use.memory().bytes()))
                        .toList(),
                ProcessView.of(List.of(process)).getFirst());
    }
}
