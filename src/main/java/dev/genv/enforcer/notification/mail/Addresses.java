package dev.genv.enforcer.notification.mail;

import dev.genv.enforcer.notification.UserDirectory;
import dev.genv.enforcer.notification.notice.PersonalNotice;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * Finds the address of a user.
 *
 * @param template the address of users who are not in the file, with {@link #USER}; empty if only the file counts
 * @param file addresses by name or uid; empty for none
 * @param users the accounts of the machines
 */
public record Addresses(Optional<String> template, Optional<AddressFile> file, UserDirectory users) {
    /** Stands for the name of the user in a template. */
    public static final String USER = "{user}";

    /** Only these names are the local part of an address without doubt. */
    private static final Pattern NAME = Pattern.compile("[A-Za-z0-9_][A-Za-z0-9_-]*(\\.[A-Za-z0-9_-]+)*");

    /** Returns the address of the user of a notice; empty if none is known. */
    Optional<String> of(PersonalNotice personal) {
        var hosts = personal.violation().violation().hosts();
        var name = users.nameOf(hosts, personal.uid());
        var known = file.map(AddressFile::addresses).orElse(Map.of());
        return name.map(known::get)
                .or(() -> byUid(known, personal))
                .or(() -> name.filter(user -> NAME.matcher(user).matches())
                        .flatMap(user -> template.map(text -> text.replace(USER, user)))
                        .filter(MailAddress::isValid));
    }

    /** A uid may belong to different people on different machines, so all of them must lead to the same address. */
    private Optional<String> byUid(Map<String, String> known, PersonalNotice personal) {
        var found = personal.violation().violation().hosts().stream()
                .map(host -> Optional.ofNullable(known.get(Long.toString(users.ownerOf(host, personal.uid())))))
                .collect(Collectors.toSet());
        return found.size() == 1 ? found.iterator().next() : Optional.empty();
    }
}
